// The CPU's memory under an accelerator's names.
#pragma once
#include "runtime/memory_pool.h"

#include <cstddef>
#include <cstring>

namespace kiln {

/// The memory of the CPU, under an Accelerator's names. Code for both is a template, which tests no device
/// when it runs.
struct HostMemory {
  static std::byte* allocate(std::size_t bytes, memory::Use use) {
    return static_cast<std::byte*>(memory::allocate(bytes, use));
  }
  static void deallocate(std::byte* data, std::size_t bytes, memory::Use use) noexcept {
    memory::deallocate(data, bytes, use);
  }
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) { std::memmove(to, from, bytes); }
  static void clear(std::byte* data, std::size_t bytes) { std::memset(data, 0, bytes); }
  static void download(void* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};

inline constinit HostMemory host_memory;

}  // namespace kiln
