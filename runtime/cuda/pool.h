// The memory pool of a GPU.
#pragma once
#include "runtime/cuda/context.h"
#include "runtime/memory_level.h"

#include <kiln/memory.h>

#include <cstddef>
#include <map>
#include <unordered_map>
#include <vector>

namespace kiln::nvidia {

/// The memory of a GPU. Freed blocks are kept for arrays of their size, or somewhat less. All work of the GPU
/// is in one order, so that a block may be reused at once: work enqueued on it earlier is done first. Thread
/// rule: any thread.
class Pool {
 public:
  explicit Pool(Context& context) : context_(context) {}

  /// Throws kiln::Error for want of memory: the bytes requested, held and free.
  std::byte* allocate(std::size_t bytes, memory::Use use);
  /// `bytes` and `use` as in the allocation.
  void deallocate(std::byte* data, std::size_t bytes, memory::Use use) noexcept;

  MemoryReport report() const;
  void reset_peak();
  /// Gives freed blocks back to the driver.
  void release();
  /// Maximum bytes of blocks, freed ones included; 0: all memory of the GPU.
  void set_limit(std::size_t bytes);
  /// Gives all blocks back except blocks of arrays, which follow when they are freed, and the context with
  /// the last of them. The context is closed.
  void close() noexcept;

 private:
  struct Block {
    std::size_t bytes;
    memory::Use use;
  };

  std::byte* find_free(std::size_t bytes, memory::Use use);
  std::byte* make(std::size_t bytes, memory::Use use);
  void release_locked() noexcept;

  Context& context_;
  mutable Mutex mutex_;
  bool closed_ = false;
  std::multimap<std::size_t, std::byte*> free_;   // by size
  std::unordered_map<std::byte*, Block> blocks_;  // in use
  std::size_t live_ = 0, arenas_ = 0, peak_ = 0, in_use_ = 0, free_bytes_ = 0, limit_ = 0;
};

}  // namespace kiln::nvidia
