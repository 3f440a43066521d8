#pragma once
#include <cstddef>

/// What the pool gets its blocks from.
namespace kiln::memory {

/// Null when there is none. Blocks of some megabytes ask for huge pages.
void* system_allocate(std::size_t bytes) noexcept;
void system_free(void* block, std::size_t bytes) noexcept;
/// Bytes of freed blocks that the process may keep; see kiln/memory.h.
std::size_t pool_limit() noexcept;

/// Whether the process may have so many bytes more at this moment, and so many mappings, under its limits
/// (setrlimit, overcommit, vm.max_map_count). No more mappings than pages.
bool can_map(std::size_t bytes, std::size_t mappings = 1) noexcept;

}  // namespace kiln::memory
