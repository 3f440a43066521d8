// Samplers of random numbers.
#pragma once
#include "frontend/ops/common.h"

/// Samplers. Each takes a fixed number of random counters, independent of the values, so that later draws of
/// a program do not shift.
namespace kiln::ops {

/// The dtype of the uniform draws for a result of `dtype`: f64 (53 random bits) for f64, else f32 (24).
DType drawn_in(DType dtype);

/// Normal numbers of type f32 or f64, with mean 0 and deviation 1; two counters.
Value normal_sample(Primitives& p, const TensorType& type);

/// Numbers of the gamma distribution of type f32 or f64, with that shape parameter and scale 1.
Value gamma_sample(Primitives& p, const TensorType& type, double alpha);

/// Numbers of the Poisson distribution as int64, for an array of type f32 or f64; one counter, two for means
/// above 2^24.
Value poisson_sample(Primitives& p, const TensorType& type, double mean);

/// Uniform int64 numbers, low <= x < high, with a bias of at most (high - low) 2^-64; one counter.
Value integer_sample(Primitives& p, const Shape& shape, std::int64_t low, std::int64_t high);

}  // namespace kiln::ops
