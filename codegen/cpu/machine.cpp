#include "codegen/cpu/machine.h"

#include "runtime/once.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

#include <fstream>
#include <optional>
#include <unistd.h>

namespace kiln::codegen {
namespace {

/// One row for each family of processors that was measured, found by the beginning of LLVM's name; the last
/// row is for all others. Prefetch instructions for streams cost up to a fifth on Zen 3 and 5 and gain up to
/// a tenth on Cascade Lake.
struct Row {
  llvm::StringLiteral cpu;
  Cache l1, l2;
  bool prefetches_streams;
};
constexpr std::int64_t kib = 1024;
constexpr Row rows[] = {
    {"znver5", {48 * kib, 12, "table"}, {1024 * kib, 16, "table"}, true},
    {"znver4", {32 * kib, 8, "table"}, {1024 * kib, 8, "table"}, true},
    {"znver", {32 * kib, 8, "table"}, {512 * kib, 8, "table"}, true},
    {"cascadelake", {32 * kib, 8, "table"}, {1024 * kib, 16, "table"}, false},
    {"", {32 * kib, 8, "table"}, {512 * kib, 8, "table"}, false},
};

std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// "48K" as bytes.
std::optional<std::int64_t> parse_size(llvm::StringRef text) {
  std::int64_t n = 0;
  if (text.consumeInteger(10, n) || n <= 0) return std::nullopt;
  if (text == "K") return n * kib;
  if (text == "M") return n * kib * kib;
  return text.empty() ? std::optional(n) : std::nullopt;
}

/// What Linux knows of the data cache of a level; nothing in some containers and virtual machines.
std::optional<Cache> from_sysfs(const char* level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (read_line(folder + "level") != level || read_line(folder + "type") == "Instruction") continue;
    const auto size = read_line(folder + "size"), ways = read_line(folder + "ways_of_associativity");
    const auto bytes = size ? parse_size(*size) : std::nullopt;
    int count = 0;
    if (bytes && ways && !llvm::StringRef(*ways).getAsInteger(10, count) && count > 0)
      return Cache{*bytes, count, "sysfs"};
  }
  return std::nullopt;
}

/// The same from the C library, which queries the processor.
std::optional<Cache> from_sysconf(int size, int associativity) {
  const long bytes = sysconf(size), ways = sysconf(associativity);
  if (bytes <= 0 || ways <= 0) return std::nullopt;
  return Cache{bytes, static_cast<int>(ways), "sysconf"};
}

Cache cache_of(const char* level, int size, int associativity, const Cache& otherwise) {
  if (const auto cache = from_sysfs(level)) return *cache;
  if (const auto cache = from_sysconf(size, associativity)) return *cache;
  return otherwise;
}

}  // namespace

const Machine& machine() {
  constexpr auto find = [] {
    const std::string cpu = llvm::sys::getHostCPUName().str();
    const Row* row = rows;
    while (!llvm::StringRef(cpu).starts_with(row->cpu)) ++row;
    return Machine{cpu, cache_of("1", _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, row->l1),
                   cache_of("2", _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, row->l2),
                   row->prefetches_streams};
  };
  return once<find>();
}

}  // namespace kiln::codegen
