// The rate of arithmetic of one core.
#pragma once

namespace kiln::codegen {

/// Fused multiply-adds of f32 per second on the calling thread, with vectors of this many bytes (0: one
/// element; 32 takes AVX2 with FMA, 64 AVX-512). Measured in about 2 ms: the best of several passes.
double measure_multiply_adds(int vector_bytes);

}  // namespace kiln::codegen
