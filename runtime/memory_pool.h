// The pool of the host's memory.
#pragma once
#include "runtime/memory_level.h"

#include <cstddef>

/// Blocks of memory for elements, aligned to 64 bytes and uninitialised. Freed blocks are kept up to a limit.
/// Small ones (up to 32 KiB) are in a list of the freeing thread, others and a thread's surplus in a list of
/// the process. Reuse saves the page faults of large arrays at every call. With the address sanitizer nothing
/// is kept, and each block ends at its requested size. Thread rule: any thread may free a block of another.
namespace kiln::memory {

/// Counts `bytes` in the report. Throws kiln::Error with the size if the system has no more memory even after
/// the pool is emptied.
void* allocate(std::size_t bytes, Use use);
/// `bytes` and `use` as in the allocation.
void deallocate(void* block, std::size_t bytes, Use use) noexcept;

/// In the child of a fork(): blocks kept by other threads are leaked.
void forget_other_threads() noexcept;

}  // namespace kiln::memory
