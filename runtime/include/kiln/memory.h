#pragma once
#include <kiln/export.h>

#include <cstddef>

namespace kiln {

/// Where the memory is, in bytes. Arrays and arenas count with what was asked for them, the pool with what it
/// keeps.
struct MemoryReport {
  std::size_t live_bytes = 0;    ///< arrays that are alive, and layouts kept beside parameters
  std::size_t arena_bytes = 0;   ///< temporaries of the calls that run at this moment
  std::size_t peak_bytes = 0;    ///< largest live_bytes + arena_bytes since reset_peak_memory()
  std::size_t pooled_bytes = 0;  ///< freed blocks kept for reuse
};

/// A snapshot of the process. Memory that a program wraps (Tensor::wrap) is its own and not counted. Exact
/// while the other threads make and drop no arrays; a peak that several threads reach together is exact up to
/// 64 KiB for each of them. Any thread.
KILN_API MemoryReport memory_report();
/// Makes the present level the peak.
KILN_API void reset_peak_memory();
/// Gives the pool's freed blocks back to the system: all shared ones and those of the calling thread. The
/// pool keeps at most a quarter of the machine's memory, or KILN_POOL_MAX_SIZE bytes (suffixes K, M, G).
KILN_API void release_pooled_memory();

}  // namespace kiln
