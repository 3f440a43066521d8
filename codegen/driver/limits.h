// The limits of this machine, against which a kernel's time is held.
#pragma once
#include <kiln/dtype.h>

#include <cstdint>
#include <string>

namespace kiln {

/// How fast one core of this machine can move bytes and multiply at best (codegen/target).
struct MachineLimits {
  std::string instructions;       ///< "x86-64-v4"
  double f32_multiply_adds = 0;   ///< per second
  double pair_multiply_adds = 0;  ///< by paired32, per second
  double byte_multiply_adds = 0;  ///< of u8 by i8, per second
  std::int64_t l1_bytes = 0, l2_bytes = 0;
  std::int64_t l3_bytes = 0;  ///< the share of L3 that serves a core; 0: L3 is no faster than memory
  double l1_rate = 0, l2_rate = 0, l3_rate = 0, memory_rate = 0;  ///< of reads, in bytes per second

  /// Bytes per second of a loop over this many bytes, from the nearest cache that has room for them.
  double rate_of(std::int64_t bytes) const;
  /// Multiply-adds per second of factors of this dtype; elements of 8 bytes take twice the time of others.
  double multiply_adds_of(DType dtype) const;
  /// The least seconds in which `cores` cores compute this.
  double seconds_of(std::int64_t bytes, double multiply_adds, DType dtype, int cores) const;
};

/// Measured once in a process, in some milliseconds, beyond what KILN_MACHINE or the disk cache say. Any
/// thread.
const MachineLimits& machine_limits();

}  // namespace kiln
