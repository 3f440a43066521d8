#pragma once
#include <kiln/export.h>

#include <cstddef>

namespace kiln {

/// Memory use in bytes: requested sizes of arrays and arenas, block sizes of the pool.
struct MemoryReport {
  std::size_t live_bytes = 0;    ///< live arrays and prepacked constants
  std::size_t arena_bytes = 0;   ///< arenas of running calls
  std::size_t peak_bytes = 0;    ///< largest live_bytes + arena_bytes since reset_peak_memory()
  std::size_t pooled_bytes = 0;  ///< freed blocks kept for reuse
};

/// The memory use of the process. External (borrowed) memory (Tensor::wrap) is not counted. Exact while other
/// threads neither create nor release arrays; the peak of several threads is exact up to 64 KiB per thread.
/// Any thread.
KILN_API MemoryReport memory_report();
/// Sets the peak to the current level.
KILN_API void reset_peak_memory();
/// Returns freed blocks of the pool to the system: all shared ones and those of the calling thread. The pool
/// keeps at most a quarter of the machine's memory, or KILN_POOL_MAX_SIZE bytes (suffixes K, M, G).
KILN_API void release_pooled_memory();

}  // namespace kiln
