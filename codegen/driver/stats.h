// Counters of compilations.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kiln::codegen {

/// The counters of compile_stats(), and times summed over all threads in ns: emitting kernels and lowering
/// them to LLVM IR (mlir), and LLVM.
struct Stats {
  std::atomic<std::uint64_t> graphs{0}, kernels_compiled{0}, kernels_loaded{0}, kernels_shared{0};
  std::atomic<std::uint64_t> kernels_mapped{0}, kernels_dropped{0};
  std::atomic<std::uint64_t> mlir_ns{0}, llvm_ns{0};
};
Stats& stats();

/// The origin of the kernels of one compilation, counted on all of its threads.
struct KernelCounts {
  std::atomic<std::size_t> compiled{0};  ///< through LLVM
  std::atomic<std::size_t> loaded{0};    ///< from Kiln's build or the disk cache
  std::atomic<std::size_t> shared{0};    ///< found in memory
};

}  // namespace kiln::codegen
