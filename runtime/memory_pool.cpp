// The memory pool: the freed blocks of each thread, and the memory report.
#include "runtime/memory_pool.h"

#include "runtime/accelerator.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/memory_classes.h"
#include "runtime/memory_level.h"
#include "runtime/memory_shared.h"
#include "runtime/memory_system.h"
#include "runtime/once.h"

#include <kiln/memory.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace kiln::memory {
namespace {

constexpr std::size_t small_bytes = 32 * 1024;
constexpr std::size_t small_classes = class_of(small_bytes) + 1;

/// The number of blocks of a small class that a thread keeps: 32 KiB worth, at least 2 and at most 64.
constexpr std::uint32_t thread_limit(std::size_t c) {
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(small_bytes / std::max(class_bytes(c), std::size_t{1}), 2, 64));
}
constexpr auto limits = [] {
  std::array<std::uint32_t, small_classes> a{};
  for (std::size_t c = 0; c < small_classes; ++c) a[c] = thread_limit(c);
  return a;
}();

struct ThreadCache {
  struct List {
    FreeBlock* head = nullptr;
    std::atomic<std::uint32_t> count{0};  // written by the owning thread only; the report reads it

    std::uint32_t add(std::uint32_t n) noexcept {
      const std::uint32_t now = count.load(std::memory_order_relaxed) + n;
      count.store(now, std::memory_order_relaxed);
      return now;
    }
    void* pop() noexcept {
      FreeBlock* b = head;
      head = b->next;
      add(-1u);
      return b;
    }
  };
  std::array<List, small_classes> lists{};
  ThreadLevel level;

  std::size_t bytes() const {
    std::size_t n = 0;
    for (std::size_t c = 0; c < small_classes; ++c)
      n += lists[c].count.load(std::memory_order_relaxed) * class_bytes(c);
    return n;
  }

  void flush(std::size_t c, std::uint32_t keep) noexcept {
    List& l = lists[c];
    FreeBlock* out = nullptr;
    for (std::uint32_t n = l.count.load(std::memory_order_relaxed); n > keep; --n) {
      auto* b = static_cast<FreeBlock*>(l.pop());
      b->next = out;
      out = b;
    }
    if (out != nullptr) shared_blocks().put(c, out);
  }
  void flush_all() noexcept {
    for (std::size_t c = 0; c < small_classes; ++c) flush(c, 0);
  }
};

struct CacheList {
  Mutex mutex;
  std::vector<ThreadCache*> caches;
};
CacheList& cache_list() {
  return once<[] { return CacheList(); }>();
}

// Trivially destructible, so that it can be read at any time of a thread's life. Not of the TLS model
// initial-exec: such variables need room in the static TLS block, and dlopen() has little of it.
constinit thread_local ThreadCache* cache_of_thread = nullptr;
constinit thread_local bool thread_is_ending = false;

constinit ProcessLevel process_level;

struct CacheOwner {
  ThreadCache cache;
  CacheOwner() {
    CacheList& l = cache_list();
    const std::lock_guard lock(l.mutex);
    l.caches.push_back(&cache);
    cache_of_thread = &cache;
  }
  ~CacheOwner() {
    cache_of_thread = nullptr;
    thread_is_ending = true;
    cache.flush_all();
    CacheList& l = cache_list();
    const std::lock_guard lock(l.mutex);
    cache.level.add_to(process_level);
    std::erase(l.caches, &cache);
  }
};

/// Null for a thread that is ending: its blocks go to the shared lists.
ThreadCache* make_thread_cache() {
  if (thread_is_ending) return nullptr;
  static thread_local CacheOwner owner;
  return &owner.cache;
}

[[gnu::noinline]] void count_without_cache(std::int64_t bytes, Use use) noexcept {
  if (ThreadCache* made = make_thread_cache()) return made->level.count(process_level, bytes, use);
  process_level.add(bytes, use == Use::arena ? bytes : 0, bytes);
}

inline void count(ThreadCache* cache, std::int64_t bytes, Use use) noexcept {
  if (cache != nullptr) [[likely]]
    return cache->level.count(process_level, bytes, use);
  count_without_cache(bytes, use);
}

[[gnu::noinline, gnu::cold]] void* allocate_from_system(std::size_t requested, std::size_t bytes) {
  void* block = bytes > max_bytes ? nullptr : system_allocate(bytes);
  if (block == nullptr && bytes <= max_bytes) {
    release_pooled_memory();
    block = system_allocate(bytes);
  }
  if (block == nullptr) {
    const auto report = memory_report();
    fail("out of memory: {} bytes were requested and the system has no more. Live arrays hold {} bytes.",
         requested, report.live_bytes);
  }
  return block;
}

}  // namespace

void forget_other_threads() noexcept {
  std::erase_if(cache_list().caches, [](ThreadCache* c) {
    if (c == cache_of_thread) return false;
    c->level.add_to(process_level);  // the arrays still exist
    return true;
  });
}

#ifdef KILN_SANITIZE_ADDRESS

void* allocate(std::size_t bytes, Use use) {
  void* block = allocate_from_system(bytes, bytes);
  count(cache_of_thread, static_cast<std::int64_t>(bytes), use);
  return block;
}
void deallocate(void* block, std::size_t bytes, Use use) noexcept {
  system_free(block, bytes);
  count(cache_of_thread, -static_cast<std::int64_t>(bytes), use);
}

#else

namespace {

[[gnu::noinline]] void* allocate_slow(std::size_t bytes) {
  if (bytes > max_bytes) return allocate_from_system(bytes, bytes);
  const std::size_t c = class_of(bytes);
  ThreadCache* cache = nullptr;
  if (c < small_classes) cache = cache_of_thread != nullptr ? cache_of_thread : make_thread_cache();
  if (cache == nullptr) {
    void* block = shared_blocks().take(c);
    return block != nullptr ? block : allocate_from_system(bytes, class_bytes(c));
  }
  ThreadCache::List& l = cache->lists[c];
  if (l.head == nullptr) {
    std::uint32_t taken = 0;
    l.head = shared_blocks().take_some(c, thread_limit(c) / 2, &taken);
    if (l.head == nullptr) return allocate_from_system(bytes, class_bytes(c));
    l.add(taken);
  }
  return l.pop();
}

/// Frees a block for which the thread has no list or no room.
[[gnu::noinline]] void deallocate_slow(std::size_t c, FreeBlock* b) noexcept {
  if (c < small_classes && make_thread_cache() != nullptr) {
    b->next = std::exchange(cache_of_thread->lists[c].head, b);
    if (cache_of_thread->lists[c].add(1) > thread_limit(c)) cache_of_thread->flush(c, thread_limit(c) / 2);
    return;
  }
  b->next = nullptr;
  shared_blocks().put(c, b);
}

}  // namespace

void* allocate(std::size_t bytes, Use use) {
  ThreadCache* cache = cache_of_thread;
  const auto counted = static_cast<std::int64_t>(bytes);
  if (bytes <= small_bytes && cache != nullptr) [[likely]] {
    ThreadCache::List& l = cache->lists[class_of(bytes)];
    if (l.head != nullptr) [[likely]] {
      cache->level.count(process_level, counted, use);
      return l.pop();
    }
  }
  void* block = allocate_slow(bytes);
  count(cache_of_thread, counted, use);
  return block;
}

void deallocate(void* block, std::size_t bytes, Use use) noexcept {
  const std::size_t c = class_of(bytes);
  auto* b = static_cast<FreeBlock*>(block);
  ThreadCache* cache = cache_of_thread;
  count(cache, -static_cast<std::int64_t>(bytes), use);
  if (bytes <= small_bytes && cache != nullptr) [[likely]] {
    ThreadCache::List& l = cache->lists[c];
    b->next = l.head;
    l.head = b;
    if (l.add(1) > limits[c]) [[unlikely]]
      cache->flush(c, limits[c] / 2);
    return;
  }
  deallocate_slow(c, b);
}

#endif

}  // namespace kiln::memory

namespace kiln {

MemoryReport memory_report(Device device) {
  if (Accelerator* const accelerator = accelerator_of(device)) return accelerator->memory_report();
  using namespace memory;
  CacheList& l = cache_list();
  const std::lock_guard lock(l.mutex);
  std::int64_t held = process_level.held(), arenas = process_level.arenas();
  std::size_t pooled = shared_blocks().bytes();
  for (const ThreadCache* c : l.caches) {
    held += c->level.change();
    arenas += c->level.arenas();
    pooled += c->bytes();
  }
  std::int64_t peak = process_level.peak();
  for (const ThreadCache* c : l.caches) peak = std::max(peak, held - c->level.change() + c->level.highest());
  const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(std::max<std::int64_t>(n, 0)); };
  return {.live_bytes = bytes(held - arenas),
          .arena_bytes = bytes(arenas),
          .peak_bytes = bytes(peak),
          .pooled_bytes = pooled};
}

void reset_peak_memory(Device device) {
  if (Accelerator* const accelerator = accelerator_of(device)) return accelerator->reset_peak_memory();
  using namespace memory;
  CacheList& l = cache_list();
  const std::lock_guard lock(l.mutex);
  std::int64_t held = process_level.held();
  for (ThreadCache* c : l.caches) {
    held += c->level.change();
    c->level.reset_highest();
  }
  process_level.reset_peak(held);
}

void release_pooled_memory(Device device) {
  if (Accelerator* const accelerator = accelerator_of(device)) return accelerator->release_pooled_memory();
  using namespace memory;
  if (cache_of_thread != nullptr) cache_of_thread->flush_all();
  shared_blocks().clear();
}

void set_memory_limit(std::size_t bytes, Device device) {
  Accelerator* const accelerator = accelerator_of(device);
  if (!accelerator) fail("set_memory_limit() is for a GPU: the system limits the memory of the CPU");
  accelerator->set_memory_limit(bytes);
}

}  // namespace kiln
