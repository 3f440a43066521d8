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
/// is in one order, so that a block may be used again at once: what was enqueued on it is done first. Thread
/// rule: any thread.
class Pool {
 public:
  explicit Pool(Context& context) : context_(context) {}

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
  /// Gives all blocks back but those of arrays, which are given back when they are freed, the context with
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
