// Special functions: computed in float64, rounded once to the dtype.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <limits>
#include <numbers>

namespace kiln::ops {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Horner's rule, coefficients from the constant term up.
Value polynomial(Primitives& p, Value x, std::span<const double> coefficients) {
  Value sum = p.like(x, coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;)
    sum = p.add(p.mul(sum, x), p.like(x, coefficients[i]));
  return sum;
}

struct Rational {
  double numerator[8], denominator[8];
  Value of(Primitives& p, Value x) const {
    return p.div(polynomial(p, x, numerator), polynomial(p, x, denominator));
  }
};

// M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988): quantiles of the normal distribution.
// erfinv(x) is the quantile of (1 + x) / 2 divided by the square root of 2.
constexpr Rational central{
    {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
    {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
constexpr Rational outer{{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                          3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                          2.27238449892691845833e-2, 7.74545014278341407640e-4},
                         {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                          1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                          1.05075007164441684324e-9}};
constexpr Rational far_out{{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                            2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                            2.71155556874348757815e-5, 2.01033439929228813265e-7},
                           {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                            1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                            1.42151175831644588870e-7, 2.04426310338993978564e-15}};

Value erfinv_of(Primitives& p, Value x) {
  const auto number = [&](double v) { return p.like(x, v); };
  Value q = p.mul(x, number(0.5)), magnitude = p.unary(Unary::abs, q);
  Value inner = p.mul(q, central.of(p, p.sub(number(0.180625), p.mul(q, q))));
  Value r = p.unary(Unary::sqrt, p.unary(Unary::neg, p.unary(Unary::log, p.sub(number(0.5), magnitude))));
  Value tail = p.select(p.compare(Compare::le, r, number(5)), outer.of(p, p.sub(r, number(1.6))),
                        far_out.of(p, p.sub(r, number(5))));
  // At x = -1 and 1 the logarithm is infinite, and so is the limit of the quotient.
  tail = p.select(p.compare(Compare::eq, magnitude, number(0.5)), number(infinity), tail);
  tail = p.mul(tail, p.unary(Unary::sign, q));
  Value quantile = p.select(p.compare(Compare::le, magnitude, number(0.425)), inner, tail);
  return p.mul(quantile, number(1 / std::numbers::sqrt2));
}

// C. Lanczos, SIAM Journal on Numerical Analysis B1 (1964), with P. Godfrey's coefficients for g = 7. With t
// = x + 6.5, gamma(x) = sqrt(2 pi) t^(x - 1/2) e^-t s(x), where s(x) = c0 + c1 / x + c2 / (x + 1) + ...
constexpr double lanczos[] = {0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
                              771.32342877765313,   -176.61502916214059,   12.507343278686905,
                              -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};

Value lanczos_sum(Primitives& p, Value x) {
  Value sum = p.like(x, lanczos[0]);
  for (int i = 1; i < 9; ++i) sum = p.add(sum, p.div(p.like(x, lanczos[i]), p.add(x, p.like(x, i - 1))));
  return sum;
}

/// Below 1/2, both functions use the reflection gamma(x) gamma(1 - x) = pi / sin(pi x).
struct Reflection {
  Value reflected;  ///< whether x is below 1/2
  Value x;          ///< x, or 1 - x
  Value sine;       ///< sin(pi x), exactly 0 at integers
  Value is_pole;    ///< 0, -1, -2, ...
};
Reflection reflect(Primitives& p, Value x) {
  const auto number = [&](double v) { return p.like(x, v); };
  Reflection r;
  r.reflected = p.compare(Compare::lt, x, number(0.5));
  r.x = p.select(r.reflected, p.sub(number(1), x), x);
  Value whole = p.unary(Unary::rint, x), rest = p.sub(x, whole);
  Value sine = p.unary(Unary::sin, p.mul(rest, number(std::numbers::pi)));
  Value odd = p.compare(Compare::ne, p.binary(Binary::mod, whole, number(2)), number(0));
  r.sine = p.select(odd, p.unary(Unary::neg, sine), sine);
  r.is_pole =
      p.binary(Binary::logical_and, p.compare(Compare::le, x, number(0)), p.compare(Compare::eq, x, whole));
  return r;
}

Value gamma_of(Primitives& p, Value x) {
  const auto number = [&](double v) { return p.like(x, v); };
  Reflection r = reflect(p, x);
  Value t = p.add(r.x, number(6.5));
  // The power is computed as two factors: as one it overflows before the function does.
  Value half = p.binary(Binary::pow, t, p.mul(p.sub(r.x, number(0.5)), number(0.5)));
  Value y = p.mul(p.mul(half, p.unary(Unary::exp, p.unary(Unary::neg, t))), half);
  y = p.mul(p.mul(y, number(2.5066282746310002)), lanczos_sum(p, r.x));
  y = p.select(p.compare(Compare::gt, r.x, number(171.7)), number(infinity), y);
  y = p.select(r.reflected, p.div(number(std::numbers::pi), p.mul(r.sine, y)), y);
  Value zero = p.compare(Compare::eq, x, number(0));
  Value pole = p.select(zero, p.div(number(1), x), number(std::numeric_limits<double>::quiet_NaN()));
  return p.select(r.is_pole, pole, y);
}

Value gammaln_of(Primitives& p, Value x) {
  const auto number = [&](double v) { return p.like(x, v); };
  Reflection r = reflect(p, x);
  Value t = p.add(r.x, number(6.5));
  Value y = p.sub(p.mul(p.sub(r.x, number(0.5)), p.unary(Unary::log, t)), t);
  y = p.add(p.add(y, number(0.91893853320467274)), p.unary(Unary::log, lanczos_sum(p, r.x)));
  Value sine = p.unary(Unary::abs, r.sine);
  Value below = p.sub(p.unary(Unary::log, p.div(number(std::numbers::pi), sine)), y);
  // Near 0, where the quotient may overflow, gamma(x) is 1 / x.
  const Value magnitude = p.unary(Unary::abs, x);
  below = p.select(p.compare(Compare::lt, magnitude, number(1e-20)),
                   p.unary(Unary::neg, p.unary(Unary::log, magnitude)), below);
  y = p.select(r.reflected, below, y);
  Value at_end = p.binary(Binary::logical_or, r.is_pole,
                          p.compare(Compare::eq, p.unary(Unary::abs, x), number(infinity)));
  return p.select(at_end, number(infinity), y);
}

/// The logarithmic derivative of gamma. M. Abramowitz and I. Stegun, Handbook of Mathematical Functions
/// (1964). Below 1/2 by reflection (6.3.7), psi(x) = psi(1 - x) - pi / tan(pi x); else by recurrence (6.3.6)
/// from t = x + 8. There the asymptotic series (6.3.18), psi(t) = log t - 1 / (2 t) - sum B_2k / (2 k t^2k),
/// to k = 8 is off by less than 1e-16. The error is below 1e-14 max(1, |psi|), except near a pole below 0 and
/// a zero: there the rounding of pi times the distance to an integer counts.
Value digamma_of(Primitives& p, Value x) {
  const auto number = [&](double v) { return p.like(x, v); };
  // B_2k / (2 k)
  constexpr double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  constexpr int steps = 8;
  const Value reflected = p.compare(Compare::lt, x, number(0.5));
  const Value z = p.select(reflected, p.sub(number(1), x), x), t = p.add(z, number(steps));
  const Value inverse = p.div(number(1), t), square = p.mul(inverse, inverse);
  Value y = p.sub(p.unary(Unary::log, t), p.mul(inverse, number(0.5)));
  y = p.sub(y, p.mul(square, polynomial(p, square, series)));
  Value sum = p.div(number(1), z);
  for (int i = 1; i < steps; ++i) sum = p.add(sum, p.div(number(1), p.add(z, number(i))));
  y = p.sub(y, sum);
  // Where nothing is reflected, the tangent of any other number: the tangent of 0 would make derivatives NaN.
  const Value distance = p.sub(x, p.unary(Unary::rint, x));  // +0 for both zeros
  const Value signed_distance = p.select(p.compare(Compare::eq, x, number(0)), x, distance);
  const Value rest = p.select(reflected, signed_distance, number(0.25));
  const Value turned =
      p.div(number(std::numbers::pi), p.unary(Unary::tan, p.mul(rest, number(std::numbers::pi))));
  return p.select(reflected, p.sub(y, turned), y);
}

/// The gradient of y = f(x), whose slope is computed in float64.
template <Value (*slope)(Primitives&, const GradientArgs& args)>
Values gradient_in_double(Primitives& p, const GradientArgs& args) {
  const Value dx = p.mul(convert(p, args.heads[0], DType::f64), slope(p, args));
  return {convert(p, dx, p.dtype(args.in[0]))};
}
/// sqrt(pi) / 2 exp(y^2). A rounded y is computed again: the square multiplies its error.
Value erfinv_slope(Primitives& p, const GradientArgs& args) {
  const bool exact = p.dtype(args.out[0]) == DType::f64;
  const Value y = exact ? args.out[0] : erfinv_of(p, convert(p, args.in[0], DType::f64));
  return p.mul(p.unary(Unary::exp, p.mul(y, y)), p.like(y, 0.5 / std::numbers::inv_sqrtpi));
}
Value gammaln_slope(Primitives& p, const GradientArgs& args) {
  return digamma_of(p, convert(p, args.in[0], DType::f64));
}
Value gamma_slope(Primitives& p, const GradientArgs& args) {
  return p.mul(convert(p, args.out[0], DType::f64), gammaln_slope(p, args));
}

template <Value (*function)(Primitives&, Value)>
Values in_double(Primitives& p, Args in, const Attrs&) {
  Value y = function(p, convert(p, in[0], DType::f64));
  // An integer must not become one less where the function is exact except for its last bits: gamma(1) is 1.
  if (!is_floating(p.dtype(in[0]))) y = convert(p, y, DType::f32);
  return {convert(p, y, p.dtype(in[0]))};
}

constexpr OpReference special_reference =
    of_data | OpReference{.integers =
                              "Computed in float64, rounded to float32, then truncated and wrapped to the "
                              "dtype. NaN, infinities "
                              "and numbers beyond int64 give 0, in int64 its least number. Of bools: whether "
                              "the number is not 0.",
                          .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc)."};

OpDef special_row(std::string_view name, std::string_view alias, std::string_view summary,
                  decltype(OpDef::compose) compose, Gradient gradient, const OpReference& reference) {
  return {.name = name,
          .aliases = {alias},
          .summary = summary,
          .reference = special_reference | reference,
          .inputs = {"data"},
          .compose = compose,
          .gradient = gradient,
          .shape_rule = elementwise_shape};
}

}  // namespace

std::span<const OpDef> special_ops() {
  static const std::vector<OpDef> rows{
      special_row("erfinv", "_npx_erfinv", "The inverse of the error function.", in_double<erfinv_of>,
                  gradient_in_double<erfinv_slope>,
                  {.nan = "NaN, and where |x| > 1; infinite at -1 and 1.",
                   .gradient = "g (sqrt(pi) / 2) e^(y^2), with y the result; computed in float64",
                   .formula = "y with erf(y) = x, computed in float64 and rounded once",
                   .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc); computed by "
                             "Wichura, Algorithm AS 241, 1988."}),
      special_row("gamma", "_npx_gamma", "The gamma function of x.", in_double<gamma_of>,
                  gradient_in_double<gamma_slope>,
                  {.nan = "NaN, and at -1, -2, ... and -infinity; infinite at zeros, with the sign of x.",
                   .gradient = "g y digamma(x), with y the result; computed in float64",
                   .formula = "the integral of t^(x - 1) e^-t from 0 to infinity, continued to x < 0; "
                              "computed in float64 and rounded once",
                   .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc); computed by "
                             "Lanczos, 1964. The gradient at 0 is -infinity, in MXNet +infinity."}),
      special_row("gammaln", "_npx_gammaln", "The logarithm of the absolute value of the gamma function.",
                  in_double<gammaln_of>, gradient_in_double<gammaln_slope>,
                  {.nan = "NaN; +infinity at 0, -1, -2, ... and at both infinities.",
                   .gradient = "g digamma(x), computed in float64",
                   .formula = "log |gamma(x)|, computed in float64 and rounded once",
                   .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc); computed by "
                             "Lanczos, 1964. At poles MXNet's gradient is a great number."}),
  };
  return rows;
}

}  // namespace kiln::ops
