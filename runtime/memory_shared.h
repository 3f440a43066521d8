// The freed blocks of the process, which all threads share.
#pragma once
#include "runtime/fork_gate.h"
#include "runtime/memory_classes.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace kiln::memory {

/// A freed block holds the link of its class's list.
struct FreeBlock {
  FreeBlock* next;
};

/// Lists of freed blocks by size class. Beyond the limit, blocks of the least recently used class are
/// released first. Thread rule: any thread may call.
class SharedBlocks {
 public:
  /// Null if there is none.
  void* take(std::size_t c);
  /// Up to `n` blocks as a list.
  FreeBlock* take_some(std::size_t c, std::uint32_t n, std::uint32_t* taken);
  void put(std::size_t c, FreeBlock* list) noexcept;
  void clear() noexcept;
  std::size_t bytes();

 private:
  struct List {
    FreeBlock* head = nullptr;
    std::uint64_t used = 0;  // clock of the last use, for eviction
  };
  void* pop(std::size_t c);
  void push(std::size_t c, FreeBlock* b);
  FreeBlock* over_limit();
  FreeBlock* evict_down_to(std::size_t limit);

  Mutex mutex_;
  std::array<List, class_count> lists_{};
  std::uint64_t clock_ = 0;
  std::size_t bytes_ = 0;
};

SharedBlocks& shared_blocks();

}  // namespace kiln::memory
