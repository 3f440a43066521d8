// The system allocator below the pool.
#pragma once
#include <cstddef>

/// The system allocator below the pool.
namespace kiln::memory {

/// Null if there is no memory. Requests huge pages for blocks of some megabytes.
void* system_allocate(std::size_t bytes) noexcept;
void system_free(void* block, std::size_t bytes) noexcept;
/// The limit of freed blocks kept by the process; see kiln/memory.h.
std::size_t pool_limit() noexcept;

/// Whether the process could now have that many bytes more, and that many mappings, within its limits
/// (setrlimit, overcommit, vm.max_map_count). Requires at most one mapping per page.
bool can_map(std::size_t bytes, std::size_t mappings = 1) noexcept;

}  // namespace kiln::memory
