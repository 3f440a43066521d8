#pragma once
#include <atomic>
#include <cstdint>

namespace kiln::codegen {

/// What compile_stats() reports.
struct Stats {
  std::atomic<std::uint64_t> graphs{0}, kernels_compiled{0}, kernels_loaded{0}, kernels_shared{0};
};
Stats& stats();

}  // namespace kiln::codegen
