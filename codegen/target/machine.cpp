// The model of the machine: from Linux, from a text, or measured.
#include "codegen/target/machine.h"

#include "codegen/target/kept_streams.h"
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace kiln::codegen {
namespace {

std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// The number of CPUs of a list such as "0-3,8-11".
std::int64_t count_cpus(llvm::StringRef list) {
  std::int64_t count = 0;
  for (const llvm::StringRef part : llvm::split(list, ',')) {
    const auto [from, to] = part.split('-');
    std::int64_t first = 0, last = 0;
    if (from.getAsInteger(10, first)) continue;
    if (to.getAsInteger(10, last)) last = first;
    count += std::max<std::int64_t>(last - first + 1, 1);
  }
  return std::max<std::int64_t>(count, 1);
}

/// Linux's description of the data cache of a level; nothing in some containers and virtual machines.
struct Reported {
  Cache cache;
  std::int64_t cpus;
};
std::optional<Reported> from_sysfs(const char* level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (read_line(folder + "level") != level || read_line(folder + "type") == "Instruction") continue;
    const auto size = read_line(folder + "size"), ways = read_line(folder + "ways_of_associativity");
    const auto bytes = size ? parse_size(*size) : std::nullopt;
    int count = 0;
    if (bytes && *bytes > 0 && ways && !llvm::StringRef(*ways).getAsInteger(10, count) && count > 0)
      return Reported{{static_cast<std::int64_t>(*bytes), count, Source::sysfs},
                      count_cpus(read_line(folder + "shared_cpu_list").value_or("0"))};
  }
  return std::nullopt;
}

/// The same from the C library, which queries the processor.
std::optional<Cache> from_sysconf(int size, int associativity) {
  const long bytes = sysconf(size), ways = sysconf(associativity);
  if (bytes <= 0 || ways <= 0) return std::nullopt;
  return Cache{bytes, static_cast<int>(ways), Source::sysconf};
}

Cache cache_of(const char* level, int size, int associativity, const Cache& assumed) {
  if (const auto reported = from_sysfs(level)) return reported->cache;
  return from_sysconf(size, associativity).value_or(assumed);
}

/// A number of at most 1 TiB, or GB/s, or ns.
std::optional<std::int64_t> parse_number(std::string_view text) {
  const auto number = parse_size(text);
  if (!number || *number > std::size_t{1} << 40) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

/// "48K" or "48K/12".
std::optional<Cache> parse_cache(llvm::StringRef text, Cache cache) {
  const auto [size, ways] = text.split('/');
  const auto bytes = parse_number(size);
  if (!bytes || (text.contains('/') && (ways.getAsInteger(10, cache.ways) || cache.ways < 1))) return {};
  // Formulas divide it into lines of 64 bytes and ways.
  if (*bytes < 4096 || *bytes < 64 * cache.ways) return {};
  cache.bytes = *bytes;
  cache.source = Source::pinned;
  return cache;
}

[[noreturn]] void fail_name(std::string_view text, llvm::StringRef name) {
  std::vector<std::string_view> names{"l1", "l2"};
  for (const StreamFact& fact : stream_facts()) names.push_back(fact.name);
  fail("KILN_MACHINE={} is not known: it has no '{}'; use {}", text, name.str(), fmt::join(names, ", "));
}

}  // namespace

const char* name_of(Source source) {
  constexpr const char* names[] = {"assumed", "sysfs", "sysconf", "pinned", "measured", "kept"};
  return names[static_cast<int>(source)];
}

const std::array<StreamFact, 9>& stream_facts() {
  using Unit = StreamFact::Unit;
  static constexpr std::array<StreamFact, 9> facts{{
      {"l3", &Streams::l3_bytes, Unit::bytes, "L3 share of a core"},
      {"read-l1", &Streams::l1_read, Unit::rate, "reads from L1"},
      {"read-l2", &Streams::l2_read, Unit::rate, "reads from L2"},
      {"read-l3", &Streams::l3_read, Unit::rate, "reads from L3"},
      {"read-memory", &Streams::memory_read, Unit::rate, "reads from memory"},
      {"write", &Streams::cached_write, Unit::rate, "copies through L3"},
      {"write-past", &Streams::streaming_write, Unit::rate, "copies past the caches"},
      {"latency", &Streams::l3_latency, Unit::nanoseconds, "latency of L3"},
      {"prefetch", &Streams::prefetch_speed, Unit::percent, "streams with prefetch"},
  }};
  return facts;
}

std::int64_t coarse(double value) {
  if (!(value > 1)) return 1;
  const auto octave = static_cast<std::int64_t>(std::floor(std::log2(value)));
  const auto power = std::int64_t{1} << std::min<std::int64_t>(octave, 40);
  const double ratio = value / static_cast<double>(power);
  // Between them in logarithms: sqrt(1 * 1.5) and sqrt(1.5 * 2).
  return ratio < 1.2247 ? power : ratio < 1.7321 && power > 1 ? power / 2 * 3 : 2 * power;
}

std::string text_of(const Streams& streams) {
  std::string text;
  for (const StreamFact& fact : stream_facts())
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", fact.name, streams.*fact.value);
  return text;
}

Machine Machine::of_host() {
  Machine m;
  m.l1 = cache_of("1", _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, m.l1);
  m.l2 = cache_of("2", _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, m.l2);
  if (const auto l3 = from_sysfs("3")) {
    m.l3 = l3->cache;
    m.l3_cpus = l3->cpus;
  }
  m.streams_.reset();
  return m;
}

Machine Machine::of_text(std::string_view text) {
  Machine m;
  const llvm::StringRef host = "host";
  llvm::StringRef entries = text;
  if (entries == host || entries.starts_with("host,")) {
    m = of_host();
    m.streams_ = m.streams();
    entries = entries.drop_front(host.size()).ltrim(',');
    if (entries.empty()) return m;
  }
  Streams& streams = *m.streams_;
  streams.source = Source::pinned;
  for (const llvm::StringRef entry : llvm::split(entries, ',')) {
    const auto [name, value] = entry.split('=');
    if (name == "l1" || name == "l2") {
      Cache& cache = name == "l1" ? m.l1 : m.l2;
      const auto given = parse_cache(value, cache);
      if (!given)
        fail(
            "KILN_MACHINE={} is not known: '{}' is no cache; write its bytes, at least 4K, and its ways, as "
            "{}=1M/16",
            text, entry.str(), name.str());
      cache = *given;
      continue;
    }
    const StreamFact* const fact =
        llvm::find_if(stream_facts(), [&](const StreamFact& f) { return f.name == std::string_view(name); });
    if (fact == stream_facts().end()) fail_name(text, name);
    const auto number = parse_number(value);
    if (!number || (*number == 0 && fact->unit != StreamFact::Unit::bytes))
      fail("KILN_MACHINE={} is not known: '{}' is no number; write it as {}={}", text, entry.str(),
           fact->name, fact->unit == StreamFact::Unit::bytes ? "16M" : "24");
    streams.*fact->value = *number;
  }
  return m;
}

const Streams& Machine::streams() const {
  if (streams_) return *streams_;
  return once<streams_of_host>();
}

const Machine& assumed_machine() {
  return once<[] { return Machine::of_text("prefetch=1"); }>();
}

const Machine& machine() {
  return once<[] {
    const auto text = env("KILN_MACHINE");
    return text ? Machine::of_text(*text) : Machine::of_host();
  }>();
}

}  // namespace kiln::codegen
