#pragma once
#include <kiln/export.h>

#include <cstdint>

namespace kiln {

/// What Kiln keeps so that calls find it, and how often it made and dropped some. None of it grows without
/// end: kernels that nothing uses stay in memory up to KILN_KERNELS_MAX_COUNT of all kernels (8192), and a
/// block object keeps HybridizeOptions::max_recordings recordings, or KILN_RECORDINGS_MAX_COUNT (256). The
/// least recently used go first, and come back when they are called: a kernel from the disk cache.
struct Stats {
  std::uint64_t kernels = 0;             ///< in memory now
  std::uint64_t kernels_compiled = 0;    ///< through LLVM, since the process started
  std::uint64_t kernels_loaded = 0;      ///< from the disk cache
  std::uint64_t kernels_dropped = 0;     ///< unloaded, since there were too many
  std::uint64_t recordings = 0;          ///< alive now, those that bound calls keep among them
  std::uint64_t recordings_made = 0;     ///< one for each signature of a hybridized block's calls
  std::uint64_t recordings_dropped = 0;  ///< since there were too many, or the network has changed
  std::uint64_t prepacked = 0;           ///< layouts kept beside parameters now
  std::uint64_t prepacked_bytes = 0;     ///< their part of MemoryReport::live_bytes
};

/// The numbers of the process. Any thread.
KILN_API Stats stats();

}  // namespace kiln
