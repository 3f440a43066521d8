// Samplers of distributions, composed of primitives.
#include "frontend/ops/random.h"

#include <cmath>
#include <numbers>

namespace kiln::ops {
namespace {

/// The first position in an ascending row whose number is above `level`, by bisection: one gather per bit of
/// the row's extent.
Value first_above(Primitives& p, Value row, Value level) {
  const std::int64_t n = p.shape(row)[0];
  Value place = p.full({DType::i64, p.shape(level)}, 0);
  std::int64_t step = 1;
  while (step <= n / 2) step *= 2;
  for (; step > 0; step /= 2) {
    // Beyond the end, the last number is read, which is above every level.
    Value below = p.compare(Compare::le,
                            p.gather(row, p.add(place, p.full_integer(p.type(place), step - 1)), 0), level);
    place = p.select(below, p.add(place, p.full_integer(p.type(place), step)), place);
  }
  return place;
}

constexpr double largest_table_mean = 1 << 24;

/// Box-Muller transform: normal numbers from two uniform ones, sqrt(-2 log(1 - u)) cos(2 pi v).
Value normal_from(Primitives& p, Value u, Value v) {
  Value radius = p.unary(Unary::sqrt, p.mul(p.unary(Unary::log, p.sub(p.like(u, 1), u)), p.like(u, -2)));
  return p.mul(radius, p.unary(Unary::cos, p.mul(v, p.like(v, 2 * std::numbers::pi))));
}

/// Four independent uniform numbers; for float32 from the words of one counter.
std::array<Value, 4> four_uniforms(Primitives& p, const TensorType& type) {
  if (type.dtype == DType::f32) return p.random_uniforms(type.shape);
  std::array<Value, 4> drawn;
  for (Value& u : drawn) u = p.random_uniform(type.shape, type.dtype);
  return drawn;
}

}  // namespace

DType drawn_in(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

Value normal_sample(Primitives& p, const TensorType& type) {
  Value u = p.random_uniform(type.shape, type.dtype), v = p.random_uniform(type.shape, type.dtype);
  return normal_from(p, u, v);
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. With d = alpha - 1/3 and c = 1
// / sqrt(9 d), the sample is d v with v = (1 + c x)^3 for a normal x, accepted if log u < x^2/2 + d - d v + d
// log v. For alpha >= 1 a try fails with probability below 0.05. All 8 tries are computed, and an accepted
// one is selected. With probability below 4e-11 none is accepted; the number is then d, near the
// distribution's mode. For alpha below 1, gamma(alpha) = gamma(alpha + 1) u^(1/alpha).
Value gamma_sample(Primitives& p, const TensorType& type, double alpha) {
  constexpr int tries = 8;
  if (!(alpha > 0) || !std::isfinite(alpha))
    fail("the gamma distribution needs a shape parameter alpha above 0, got {}", alpha);
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  Value factor = p.full({DType::f64, type.shape}, 1), spare;
  for (int i = 0; i < tries; ++i) {
    auto [u, v, w, rest] = four_uniforms(p, type);
    spare = rest;
    // In float64: for large alpha the terms of `right` nearly cancel.
    Value x = convert(p, normal_from(p, u, v), DType::f64);
    Value root = p.add(p.mul(x, p.like(x, c)), p.like(x, 1));
    Value cube = p.mul(p.mul(root, root), root);
    // If the cube is not positive, its logarithm is NaN or -inf and the comparison is false.
    Value right = p.add(p.mul(p.sub(p.add(p.unary(Unary::log, cube), p.like(x, 1)), cube), p.like(x, d)),
                        p.mul(p.mul(x, x), p.like(x, 0.5)));
    Value one_minus = p.sub(p.like(w, 1), w);
    Value holds = p.compare(Compare::lt, convert(p, p.unary(Unary::log, one_minus), DType::f64), right);
    factor = p.select(holds, cube, factor);
  }
  Value sample = p.mul(factor, p.like(factor, d));
  if (alpha < 1) {
    Value u = convert(p, p.sub(p.like(spare, 1), spare), DType::f64);
    sample = p.mul(sample, p.binary(Binary::pow, u, p.like(u, 1 / alpha)));
  }
  return convert(p, sample, type.dtype);
}

// By inversion. The weights m^k / k!, up to a factor, are running products of m / k; the distribution is
// their running sums. The table covers [m - 9 sqrt m, m + 9 sqrt m + 30]: by Chernoff's bound less than 2^-54
// is outside, below the resolution of 53 random bits. For means beyond the table, a normal number is used
// instead, with the skewness term of the Cornish-Fisher expansion.
Value poisson_sample(Primitives& p, const TensorType& type, double mean) {
  if (!(mean >= 0) || !(mean <= 0x1p62))
    fail("the Poisson distribution needs a mean lam from 0 to 2^62, got {}", mean);
  if (mean > largest_table_mean) {
    Value z = convert(p, normal_sample(p, type), DType::f64);
    Value skew = p.div(p.sub(p.mul(z, z), p.like(z, 1)), p.like(z, 6));
    Value x = p.add(p.add(p.mul(z, p.like(z, std::sqrt(mean))), skew), p.like(z, mean));
    return p.cast(p.unary(Unary::rint, x), DType::i64);
  }
  const double reach = 9 * std::sqrt(mean);
  const auto low = static_cast<std::int64_t>(std::max(0.0, mean - reach));
  const auto high = static_cast<std::int64_t>(mean + reach + 30);
  const TensorType table{DType::f64, {high - low + 1}};
  Value k = p.iota(table, 0);
  Value ratio = p.div(p.full(table, mean), p.add(k, p.full(table, static_cast<double>(low))));
  ratio = p.select(p.compare(Compare::eq, k, p.full(table, 0)), p.full(table, 1), ratio);
  Value sums = p.cumulative(Reduce::sum, p.cumulative(Reduce::prod, ratio, 0), 0);
  Value total = p.slice(sums, {high - low}, {high - low + 1}, {1});
  Value u = p.random_uniform(type.shape, DType::f64);
  // Below the total: u <= 1 - 2^-53, so that the product rounds to at most the next smaller number.
  Value level = p.mul(u, p.broadcast_to(p.reshape(total, {}), type.shape));
  Value place = first_above(p, sums, level);
  return p.add(place, p.full_integer(p.type(place), low));
}

Value integer_sample(Primitives& p, const Shape& shape, std::int64_t low, std::int64_t high) {
  if (low >= high) fail("randint needs low below high, got {} and {}", low, high);
  const auto count =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  Value x = p.random_uniform(shape, DType::i64);
  const auto integer = [&](std::int64_t v) { return p.full_integer(p.type(x), v); };
  Value offset;
  if (count > 0) {
    offset = p.binary(Binary::mod, x, integer(count));
  } else {
    // A range of more than 2^63 numbers: the remainder of an unsigned x is x or x - count. Adding the
    // smallest number maps unsigned order to signed order.
    Value least = integer(INT64_MIN);
    Value small = p.compare(Compare::lt, p.add(x, least), p.add(integer(count), least));
    offset = p.select(small, x, p.sub(x, integer(count)));
  }
  return p.add(offset, integer(low));
}

}  // namespace kiln::ops
