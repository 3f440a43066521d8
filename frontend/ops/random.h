#pragma once
#include "frontend/ops/common.h"

/// Samplers that need more than a formula. Each takes a fixed number of random counters, whatever the numbers
/// are, so that what follows in a program draws the same.
namespace kiln::ops {

/// float32 numbers of the gamma distribution with that shape parameter and scale 1; `gamma_draws` counters.
Value gamma_sample(Primitives& p, const Shape& shape, double alpha);
inline constexpr int gamma_draws = 8;

/// Numbers of the Poisson distribution as int64; one counter, two for means above 2^24.
Value poisson_sample(Primitives& p, const Shape& shape, double mean);
int poisson_draws(double mean);

/// int64 numbers, low <= x < high, each as likely as the others to within (high - low) 2^-64; one counter.
Value integer_sample(Primitives& p, const Shape& shape, std::int64_t low, std::int64_t high);

/// Box and Muller's normal numbers from two uniform ones: sqrt(-2 log(1 - u)) cos(2 pi v).
Value normal_from(Primitives& p, Value u, Value v);

}  // namespace kiln::ops
