// Takes, keeps and releases the freed blocks of the process.
#include "runtime/memory_shared.h"

#include "runtime/memory_system.h"
#include "runtime/once.h"

#include <mutex>

namespace kiln::memory {
namespace {

/// Called without the lock: returning large blocks to the system takes long.
void release(FreeBlock* list) noexcept {
  while (list != nullptr) {
    FreeBlock* next = list->next;
    system_free(list, 0);
    list = next;
  }
}

}  // namespace

void* SharedBlocks::take(std::size_t c) {
  const std::lock_guard lock(mutex_);
  return pop(c);
}

FreeBlock* SharedBlocks::take_some(std::size_t c, std::uint32_t n, std::uint32_t* taken) {
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

void SharedBlocks::put(std::size_t c, FreeBlock* list) noexcept {
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

void SharedBlocks::clear() noexcept {
  FreeBlock* out = nullptr;
  {
    const std::lock_guard lock(mutex_);
    out = evict_down_to(0);
  }
  release(out);
}

std::size_t SharedBlocks::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void* SharedBlocks::pop(std::size_t c) {
  List& l = lists_[c];
  FreeBlock* b = l.head;
  if (b == nullptr) return nullptr;
  l.head = b->next;
  l.used = ++clock_;
  bytes_ -= class_bytes(c);
  return b;
}

void SharedBlocks::push(std::size_t c, FreeBlock* b) {
  List& l = lists_[c];
  b->next = l.head;
  l.head = b;
  l.used = ++clock_;
  bytes_ += class_bytes(c);
}

FreeBlock* SharedBlocks::over_limit() {
  return bytes_ > pool_limit() ? evict_down_to(pool_limit()) : nullptr;
}

FreeBlock* SharedBlocks::evict_down_to(std::size_t limit) {
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

/// Never destroyed: arrays in static variables are freed late.
SharedBlocks& shared_blocks() {
  return once<[] { return SharedBlocks(); }>();
}

}  // namespace kiln::memory
