// Allocation from freed blocks of a GPU.
#include "runtime/cuda/pool.h"

#include "runtime/cuda/driver.h"
#include "runtime/fail.h"

#include <algorithm>

namespace kiln::nvidia {

using memory::Use;

/// A block of up to an eighth more bytes: networks with inputs of varying sizes find blocks of others.
std::byte* Pool::find_free(std::size_t bytes, Use use) {
  const auto found = free_.lower_bound(bytes);
  if (found == free_.end() || found->first - bytes > bytes / 8) return nullptr;
  std::byte* const data = found->second;
  free_bytes_ -= found->first;
  in_use_ += found->first;
  blocks_.emplace(data, Block{found->first, use});
  free_.erase(found);
  return data;
}

std::byte* Pool::make(std::size_t bytes, Use use) {
  if (limit_ > 0 && in_use_ + free_bytes_ + bytes > limit_) release_locked();
  std::uint64_t address = 0;
  int result = limit_ > 0 && in_use_ + bytes > limit_ ? static_cast<int>(out_of_memory)
                                                      : driver().allocate(&address, bytes);
  if (result == out_of_memory && !free_.empty()) {
    release_locked();
    result = driver().allocate(&address, bytes);
  }
  if (result == out_of_memory) {
    std::size_t free = 0, total = 0;
    driver().memory_info(&free, &total);
    fail(
        "{} has no memory for {} bytes: {} of its {} bytes are free, and this program holds {}{}. Use "
        "smaller batches, or drop arrays that are not needed",
        context_.name(), bytes, free, total, in_use_,
        limit_ > 0 ? fmt::format(" of at most {} (set_memory_limit)", limit_) : "");
  }
  check(result, "allocating memory of the GPU");
  auto* const data = reinterpret_cast<std::byte*>(address);
  in_use_ += bytes;
  blocks_.emplace(data, Block{bytes, use});
  return data;
}

std::byte* Pool::allocate(std::size_t bytes, Use use) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  std::byte* data = find_free(bytes, use);
  if (!data) {
    const Context::Open open = context_.use();
    data = make(bytes, use);
  }
  (use == Use::arena ? arenas_ : live_) += bytes;
  peak_ = std::max(peak_, arenas_ + live_);
  return data;
}

void Pool::deallocate(std::byte* data, std::size_t bytes, Use use) noexcept {
  if (!data) return;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end()) return;  // close() gave it back
  in_use_ -= found->second.bytes;
  free_bytes_ += found->second.bytes;
  free_.emplace(found->second.bytes, data);
  blocks_.erase(found);
  (use == Use::arena ? arenas_ : live_) -= bytes;
  if (closed_) release_locked();
}

MemoryReport Pool::report() const {
  const std::lock_guard lock(mutex_);
  return {.live_bytes = live_, .arena_bytes = arenas_, .peak_bytes = peak_, .pooled_bytes = free_bytes_};
}

void Pool::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = arenas_ + live_;
}

void Pool::release() {
  const std::lock_guard lock(mutex_);
  const Context::Open open = context_.use();
  release_locked();
}

void Pool::release_locked() noexcept {
  // The driver waits for work on a block before it takes it back.
  if (!free_.empty() && context_.enter())
    for (const auto& [size, data] : free_) driver().free(reinterpret_cast<std::uint64_t>(data));
  free_.clear();
  free_bytes_ = 0;
  if (closed_ && blocks_.empty()) context_.release();
}

void Pool::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void Pool::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const auto block = it++;
    if (block->second.use == Use::array) continue;
    free_.emplace(block->second.bytes, block->first);
    blocks_.erase(block);
  }
  release_locked();
}

}  // namespace kiln::nvidia
