// The rates of arithmetic of one core.
#pragma once
#include "codegen/target/cpu_target.h"

namespace kiln::codegen {

/// Multiply-adds per second on the calling thread, by the instructions that kernels of the target take. The
/// machine has them. Measured in about 2 ms each: the best of several passes.
double measure_multiply_adds(const CpuTarget& target);       ///< fused, of f32
double measure_pair_multiply_adds(const CpuTarget& target);  ///< by paired32
double measure_byte_multiply_adds(const CpuTarget& target);  ///< of u8 by i8, with sums of i32

}  // namespace kiln::codegen
