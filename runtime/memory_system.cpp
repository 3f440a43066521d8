// The system's allocator and the limit of the pool.
#include "runtime/memory_system.h"

#include "runtime/env.h"
#include "runtime/log.h"
#include "runtime/memory_classes.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace kiln::memory {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

void* system_allocate(std::size_t bytes) noexcept {
#if defined(KILN_SANITIZE_ADDRESS) || defined(KILN_SANITIZE_THREAD)
  // A sanitizer's allocator ends the process instead of returning null.
  if (bytes > std::size_t{1} << 36) return nullptr;
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
#else
  const bool large = bytes >= 2 * huge_page;
  void* block = nullptr;
  if (posix_memalign(&block, large ? huge_page : alignment, bytes) != 0) return nullptr;
  // Only advice: without huge pages the block works as well, a few percent slower.
  if (large) madvise(block, bytes / huge_page * huge_page, MADV_HUGEPAGE);
  return block;
#endif
}

void system_free(void* block, std::size_t) noexcept { std::free(block); }

bool can_map(std::size_t bytes, std::size_t mappings) noexcept {
  void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  // A page with other access rights splits the mapping around it, so that the mappings are counted too.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bool fits = true;
  for (std::size_t i = 1; i < mappings && fits; i += 2)
    fits = ::mprotect(static_cast<std::byte*>(room) + i * page, page, PROT_READ) == 0;
  ::munmap(room, bytes);
  return fits;
}

namespace {

std::size_t read_pool_limit() {
  if (const auto text = env("KILN_POOL_MAX_SIZE")) {
    if (const auto size = parse_size(*text)) return *size;
    warn_once("KILN_POOL_MAX_SIZE",
              fmt::format("KILN_POOL_MAX_SIZE is \"{}\", not a size such as 500M; it is not used", *text));
  }
  // The pool saves page faults, mostly in the memory of one call's arrays; beyond that it takes memory from
  // other programs. Most allocators keep recently freed memory for some time (jemalloc: 10 s, mimalloc: 10
  // ms), which needs a clock; a bound does not.
  constexpr std::size_t most = std::size_t{1} << 30, share = 16;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return most;
  return std::min(most, static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / share);
}

}  // namespace

std::size_t pool_limit() noexcept {
  // Read at the first use, by any number of threads, without a lock (once.h says why) and without the memory
  // that once() allocates.
  constexpr std::size_t unread = ~std::size_t{0};
  static constinit std::atomic<std::size_t> limit{unread};
  std::size_t bytes = limit.load(std::memory_order_relaxed);
  if (bytes == unread) limit.store(bytes = read_pool_limit(), std::memory_order_relaxed);
  return bytes;
}

}  // namespace kiln::memory
