#pragma once
#include "runtime/memory_level.h"

#include <kiln/memory.h>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace kiln::nvidia {

/// The memory of a GPU. Freed blocks are kept for arrays of their size, or somewhat less. All work of the GPU
/// is in one order, so that a block may be used again at once: what was enqueued on it is done first. Thread
/// rule: any thread.
class Pool {
 public:
  /// `device` is its name, for errors; `context` makes the GPU that of the thread.
  Pool(std::string device, std::function<void()> context)
      : device_(std::move(device)), use_(std::move(context)) {}

  /// Throws kiln::Error for want of memory: the bytes requested, held and free.
  std::byte* allocate(std::size_t bytes, memory::Use use);
  /// `bytes` and `use` are those of the allocation.
  void deallocate(std::byte* data, std::size_t bytes, memory::Use use) noexcept;

  MemoryReport report() const;
  void reset_peak();
  /// Gives freed blocks back to the driver.
  void release();
  /// What blocks may use, freed ones included; 0: all that the GPU has.
  void set_limit(std::size_t bytes);

 private:
  std::byte* find_free(std::size_t bytes);
  std::byte* make(std::size_t bytes);
  void release_locked() noexcept;

  const std::string device_;
  const std::function<void()> use_;
  mutable std::mutex mutex_;
  std::multimap<std::size_t, std::byte*> free_;        // by size
  std::unordered_map<std::byte*, std::size_t> sizes_;  // of blocks in use
  std::size_t live_ = 0, arenas_ = 0, peak_ = 0, in_use_ = 0, free_bytes_ = 0, limit_ = 0;
};

}  // namespace kiln::nvidia
