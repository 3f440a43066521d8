#include "runtime/memory_pool.h"

#include "runtime/fail.h"
#include "runtime/memory_classes.h"
#include "runtime/memory_system.h"

#include <kiln/memory.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

namespace kiln::memory {
namespace {

constexpr std::size_t small_bytes = 32 * 1024;
constexpr std::size_t small_classes = class_of(small_bytes) + 1;

/// A freed block holds the list of its class.
struct FreeBlock {
  FreeBlock* next;
};

/// How many blocks of a small class a thread keeps: 32 KiB worth of them, at least 2 and at most 64.
constexpr std::uint32_t thread_limit(std::size_t c) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(small_bytes / class_bytes(c), 2, 64));
}

/// The freed blocks of the process. Blocks of the least recently used class go first when the limit is
/// passed.
class Shared {
 public:
  void* take(std::size_t c) {
    const std::lock_guard lock(mutex_);
    return pop(c);
  }

  /// Up to `n` blocks as a list.
  FreeBlock* take_some(std::size_t c, std::uint32_t n, std::uint32_t* taken) {
    const std::lock_guard lock(mutex_);
    FreeBlock* list = nullptr;
    *taken = 0;
    while (*taken < n) {
      auto* b = static_cast<FreeBlock*>(pop(c));
      if (b == nullptr) break;
      b->next = list;
      list = b;
      ++*taken;
    }
    return list;
  }

  void put(std::size_t c, FreeBlock* list) noexcept {
    FreeBlock* out = nullptr;
    {
      const std::lock_guard lock(mutex_);
      while (list != nullptr) {
        FreeBlock* next = list->next;
        push(c, list);
        list = next;
      }
      out = over_limit();
    }
    release(out);
  }

  void clear() noexcept {
    FreeBlock* out = nullptr;
    {
      const std::lock_guard lock(mutex_);
      out = evict_down_to(0);
    }
    release(out);
  }

  std::size_t bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct List {
    FreeBlock* head = nullptr;
    std::uint64_t used = 0;  // clock of the last use, for eviction
  };

  void* pop(std::size_t c) {
    List& l = lists_[c];
    FreeBlock* b = l.head;
    if (b == nullptr) return nullptr;
    l.head = b->next;
    l.used = ++clock_;
    bytes_ -= class_bytes(c);
    return b;
  }

  void push(std::size_t c, FreeBlock* b) {
    List& l = lists_[c];
    b->next = l.head;
    l.head = b;
    l.used = ++clock_;
    bytes_ += class_bytes(c);
  }

  FreeBlock* over_limit() { return bytes_ > pool_limit() ? evict_down_to(pool_limit()) : nullptr; }

  FreeBlock* evict_down_to(std::size_t limit) {
    FreeBlock* out = nullptr;
    while (bytes_ > limit) {
      std::size_t oldest = class_count;
      for (std::size_t c = 0; c < class_count; ++c)
        if (lists_[c].head != nullptr && (oldest == class_count || lists_[c].used < lists_[oldest].used))
          oldest = c;
      if (oldest == class_count) break;
      while (lists_[oldest].head != nullptr && bytes_ > limit) {
        FreeBlock* b = lists_[oldest].head;
        lists_[oldest].head = b->next;
        bytes_ -= class_bytes(oldest);
        b->next = out;
        out = b;
      }
    }
    return out;
  }

  /// Outside the lock: giving large blocks back takes the system a while.
  static void release(FreeBlock* list) noexcept {
    while (list != nullptr) {
      FreeBlock* next = list->next;
      system_free(list, 0);
      list = next;
    }
  }

  std::mutex mutex_;
  std::array<List, class_count> lists_{};
  std::uint64_t clock_ = 0;
  std::size_t bytes_ = 0;
};

/// Never destroyed: arrays in static variables are freed late.
Shared& shared() {
  static Shared* s = new Shared;
  return *s;
}

struct ThreadCache {
  struct List {
    FreeBlock* head = nullptr;
    std::uint32_t count = 0;
  };
  std::array<List, small_classes> lists{};
  std::atomic<std::size_t> bytes{0};  // written by its thread only

  void add_bytes(std::size_t n) {
    bytes.store(bytes.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  void flush(std::size_t c, std::uint32_t keep) noexcept {
    List& l = lists[c];
    FreeBlock* out = nullptr;
    std::size_t moved = 0;
    while (l.count > keep) {
      FreeBlock* b = l.head;
      l.head = b->next;
      --l.count;
      b->next = out;
      out = b;
      moved += class_bytes(c);
    }
    if (out == nullptr) return;
    add_bytes(-moved);
    shared().put(c, out);
  }
  void flush_all() noexcept {
    for (std::size_t c = 0; c < small_classes; ++c) flush(c, 0);
  }
};

struct CacheList {
  std::mutex mutex;
  std::vector<ThreadCache*> caches;
};
CacheList& cache_list() {
  static CacheList* l = new CacheList;
  return *l;
}

// Trivially destructible, so that it may be read at any time in a thread's life, and in the static block of
// thread-local memory, so that reading it is one instruction in a shared library too.
constinit thread_local ThreadCache* cache_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool thread_is_ending __attribute__((tls_model("initial-exec"))) = false;

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
    std::erase(l.caches, &cache);
  }
};

/// Null for a thread that is ending: its blocks go to the shared lists.
ThreadCache* make_thread_cache() {
  if (thread_is_ending) return nullptr;
  static thread_local CacheOwner owner;
  return &owner.cache;
}

std::atomic<std::int64_t> held{0};   // arrays and arenas
std::atomic<std::int64_t> arena{0};  // arenas
std::atomic<std::int64_t> peak{0};

void count_held(std::int64_t bytes) noexcept {
  const std::int64_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes <= 0) return;
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

[[gnu::noinline, gnu::cold]] void* allocate_from_system(std::size_t asked, std::size_t bytes) {
  void* block = bytes > max_bytes ? nullptr : system_allocate(bytes);
  if (block == nullptr && bytes <= max_bytes) {
    release_pooled_memory();
    block = system_allocate(bytes);
  }
  if (block == nullptr) {
    const auto report = memory_report();
    fail("out of memory: {} bytes were asked for and the system has no more. Live arrays hold {} bytes.",
         asked, report.live_bytes);
  }
  return block;
}

}  // namespace

void count_live(std::int64_t bytes) noexcept { count_held(bytes); }

void count_arena(std::int64_t bytes) noexcept {
  arena.fetch_add(bytes, std::memory_order_relaxed);
  count_held(bytes);
}

#ifdef KILN_SANITIZE_ADDRESS

void* allocate(std::size_t bytes) { return allocate_from_system(bytes, bytes); }
void deallocate(void* block, std::size_t bytes) noexcept { system_free(block, bytes); }

#else

void* allocate(std::size_t bytes) {
  if (bytes > max_bytes) return allocate_from_system(bytes, bytes);
  const std::size_t c = class_of(bytes);
  if (c >= small_classes) {
    void* block = shared().take(c);
    return block != nullptr ? block : allocate_from_system(bytes, class_bytes(c));
  }
  ThreadCache* cache = cache_of_thread;
  if (cache == nullptr) cache = make_thread_cache();
  if (cache == nullptr) {
    void* block = shared().take(c);
    return block != nullptr ? block : allocate_from_system(bytes, class_bytes(c));
  }
  ThreadCache::List& l = cache->lists[c];
  if (l.head == nullptr) {
    l.head = shared().take_some(c, thread_limit(c) / 2, &l.count);
    if (l.head == nullptr) return allocate_from_system(bytes, class_bytes(c));
    cache->add_bytes(l.count * class_bytes(c));
  }
  FreeBlock* b = l.head;
  l.head = b->next;
  --l.count;
  cache->add_bytes(-class_bytes(c));
  return b;
}

void deallocate(void* block, std::size_t bytes) noexcept {
  const std::size_t c = class_of(bytes);
  auto* b = static_cast<FreeBlock*>(block);
  ThreadCache* cache = c < small_classes ? cache_of_thread : nullptr;
  if (cache == nullptr && c < small_classes) cache = make_thread_cache();
  if (cache == nullptr) {
    b->next = nullptr;
    shared().put(c, b);
    return;
  }
  ThreadCache::List& l = cache->lists[c];
  b->next = l.head;
  l.head = b;
  cache->add_bytes(class_bytes(c));
  if (++l.count > thread_limit(c)) cache->flush(c, thread_limit(c) / 2);
}

#endif

}  // namespace kiln::memory

namespace kiln {

MemoryReport memory_report() {
  using namespace memory;
  MemoryReport r;
  const std::int64_t arenas = std::max<std::int64_t>(arena.load(), 0);
  r.arena_bytes = static_cast<std::size_t>(arenas);
  r.live_bytes = static_cast<std::size_t>(std::max<std::int64_t>(held.load() - arenas, 0));
  r.peak_bytes = static_cast<std::size_t>(std::max<std::int64_t>(peak.load(), 0));
  r.pooled_bytes = shared().bytes();
  CacheList& l = cache_list();
  const std::lock_guard lock(l.mutex);
  for (const ThreadCache* c : l.caches) r.pooled_bytes += c->bytes.load(std::memory_order_relaxed);
  return r;
}

void reset_peak_memory() { memory::peak.store(memory::held.load()); }

void release_pooled_memory() {
  using namespace memory;
  if (cache_of_thread != nullptr) cache_of_thread->flush_all();
  shared().clear();
}

}  // namespace kiln
