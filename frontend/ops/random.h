#pragma once
#include "frontend/ops/common.h"

/// Samplers that need more than a formula. Each takes a fixed number of random counters, whatever the numbers
/// are, so that what follows in a program draws the same.
namespace kiln::ops {

/// The dtype in which the uniform numbers behind an array of `dtype` are drawn: f64 for f64, with 53 random
/// bits, else f32, with 24.
DType drawn_in(DType dtype);

/// Normal numbers of type f32 or f64, with mean 0 and deviation 1; two counters.
Value normal_sample(Primitives& p, const TensorType& type);

/// Numbers of the gamma distribution of type f32 or f64, with that shape parameter and scale 1.
Value gamma_sample(Primitives& p, const TensorType& type, double alpha);

/// Numbers of the Poisson distribution as int64, for an array of type f32 or f64; one counter, two for means
/// above 2^24.
Value poisson_sample(Primitives& p, const TensorType& type, double mean);

/// int64 numbers, low <= x < high, each as likely as the others to within (high - low) 2^-64; one counter.
Value integer_sample(Primitives& p, const Shape& shape, std::int64_t low, std::int64_t high);

}  // namespace kiln::ops
