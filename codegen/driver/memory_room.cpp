// Probes for memory and mappings.
#include "codegen/driver/memory_room.h"

#include "codegen/driver/kernel_cache.h"
#include "runtime/fail.h"
#include "runtime/memory_system.h"

#include <kiln/memory.h>

#include <llvm/Support/ErrorHandling.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <new>

namespace kiln::codegen {

namespace {

constexpr std::size_t few_mappings = 8;

}  // namespace

void require_room(std::size_t bytes, std::string_view graph) {
  if (memory::can_map(bytes, few_mappings)) return;
  release_pooled_memory();
  drop_unused_kernels();
  if (memory::can_map(bytes, few_mappings)) return;
  require_mappings(graph);
  fail(
      "{}: out of memory: compiling it may take {} bytes more than the system has. Live arrays hold {} "
      "bytes.",
      graph, bytes, memory_report().live_bytes);
}

void require_mappings(std::string_view graph) {
  std::size_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  std::ifstream maps("/proc/self/maps");
  const auto used = static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
  if (limit != 0 && used + 2 * few_mappings > limit)
    fail(
        "{}: the process has {} mappings of memory, and vm.max_map_count allows {}: no more code can be "
        "loaded",
        graph, used, limit);
}

void throw_from_llvm() {
  [[maybe_unused]] static const bool installed = [] {
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    return true;
  }();
}

}  // namespace kiln::codegen
