// Counts of Kiln's caches.
#pragma once
#include <kiln/export.h>

#include <cstdint>

namespace kiln {

/// The contents of Kiln's caches, and how often entries were made and dropped. All caches are bounded: unused
/// kernels stay in memory up to a total of KILN_KERNELS_MAX_COUNT kernels (8192); a block object keeps
/// HybridizeOptions::max_recordings recordings, or KILN_RECORDINGS_MAX_COUNT (256). The least recently used
/// entries are dropped first. A later call makes them again, with kernels from the disk cache.
struct Stats {
  std::uint64_t kernels = 0;           ///< currently in memory
  std::uint64_t kernels_compiled = 0;  ///< through LLVM, since the process started
  std::uint64_t kernels_loaded = 0;    ///< from Kiln's build or the disk cache
  std::uint64_t kernels_dropped = 0;   ///< unloaded because there were too many
  /// Since the process started: one per recording, eager operator and its types, backward pass and choice of
  /// a Trainer's parameters. With kernels that exist it takes a fraction of a millisecond.
  std::uint64_t graphs_compiled = 0;
  std::uint64_t recordings = 0;          ///< currently alive, bound calls included
  std::uint64_t recordings_made = 0;     ///< one per signature of a hybridized block
  std::uint64_t recordings_dropped = 0;  ///< because there were too many, or the network changed
  std::uint64_t prepacked = 0;           ///< prepacked constants currently kept
  std::uint64_t prepacked_bytes = 0;     ///< their part of MemoryReport::live_bytes
};

/// The numbers of the process. Any thread.
KILN_API Stats stats();

}  // namespace kiln
