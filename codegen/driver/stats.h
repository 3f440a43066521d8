// Counters of compilations.
#pragma once
#include <atomic>
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

}  // namespace kiln::codegen
