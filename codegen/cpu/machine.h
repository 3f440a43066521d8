#pragma once
#include <cstdint>
#include <string>

namespace kiln::codegen {

/// A data cache of one core.
struct Cache {
  std::int64_t bytes = 0;
  int ways = 0;
  const char* source = "";  ///< where the numbers are from: "sysfs", "sysconf" or "table"
};

/// What code generation knows of the machine that it runs on, beyond its instruction set. It chooses sizes of
/// blocks and whether kernels prefetch; no bit depends on it.
struct Machine {
  std::string cpu;  ///< LLVM's name: "znver3", "sapphirerapids"
  Cache l1, l2;
  /// Whether the hardware prefetches streams so well that prefetch instructions only cost time.
  bool prefetches_streams = false;
};

/// This machine: caches as the kernel reports them (sysfs, else sysconf), the rest, and what is not reported,
/// from a table of processors that were measured. Read once. Any thread.
const Machine& machine();

}  // namespace kiln::codegen
