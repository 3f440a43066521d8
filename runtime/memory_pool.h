#pragma once
#include "runtime/memory_level.h"

#include <cstddef>

/// Blocks of memory for elements, aligned to 64 bytes and uninitialised. Freed blocks are kept: small ones
/// (up to 32 KiB) in a list of the thread that frees them, the others and a thread's surplus in a list of the
/// process, up to a limit. Reuse keeps large arrays from paying for fresh pages at every call. With the
/// address sanitizer nothing is kept, and each block ends where it was asked to end. Thread rule: any thread
/// may free what another allocated.
namespace kiln::memory {

/// Counts `bytes` in the report. Throws kiln::Error, naming the size, when the system has no more even after
/// the pool was emptied.
void* allocate(std::size_t bytes, Use use);
/// `bytes` and `use` as they were asked for.
void deallocate(void* block, std::size_t bytes, Use use) noexcept;

/// In the child of a fork(): the blocks that other threads kept are lost.
void forget_other_threads() noexcept;

}  // namespace kiln::memory
