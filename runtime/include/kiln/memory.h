// Reports and limits of memory.
#pragma once
#include <kiln/device.h>
#include <kiln/export.h>

#include <cstddef>

namespace kiln {

/// Memory use in bytes: requested sizes of arrays and arenas, block sizes of the pool.
struct MemoryReport {
  std::size_t live_bytes = 0;    ///< live arrays and prepacked constants
  std::size_t arena_bytes = 0;   ///< temporaries of running calls and of bound calls
  std::size_t peak_bytes = 0;    ///< largest live_bytes + arena_bytes since reset_peak_memory()
  std::size_t pooled_bytes = 0;  ///< freed blocks kept for reuse
};

/// The memory use of the process on a device. External (borrowed) memory (Tensor::wrap) is not counted. On
/// the CPU it is exact while other threads neither create nor release arrays, and the peak of several threads
/// up to 64 KiB per thread. Any thread. All of these throw kiln::Error for a device that does not exist.
KILN_API MemoryReport memory_report(Device device = {});
/// Sets the peak to the current level.
KILN_API void reset_peak_memory(Device device = {});
/// Returns freed blocks of the pool to the system; on the CPU all shared ones and this thread's. The CPU's
/// pool keeps at most 1 GiB, on small machines a sixteenth of the memory, or KILN_POOL_MAX_SIZE bytes
/// (suffixes K, M, G).
KILN_API void release_pooled_memory(Device device = {});
/// The most that this process may use of a GPU's memory, freed blocks included; 0: all of it. An allocation
/// beyond it throws as if the GPU had no more. Throws for the CPU, whose memory the system limits.
KILN_API void set_memory_limit(std::size_t bytes, Device device);

}  // namespace kiln
