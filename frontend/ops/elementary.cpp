// Powers, exponentials, logarithms, trigonometric and hyperbolic functions, and erf.
#include "frontend/ops/pointwise.h"

#include <numbers>

namespace kiln::ops {
namespace {

Values square(Primitives& p, Args in, const Attrs&) { return {p.mul(in[0], in[0])}; }
Values reciprocal(Primitives& p, Args in, const Attrs&) { return {p.div(p.like(in[0], 1), in[0])}; }
Values rcbrt(Primitives& p, Args in, const Attrs&) {
  const Value x = widen(p, in[0]);
  return {convert(p, p.div(p.like(x, 1), p.unary(Unary::cbrt, x)), p.dtype(in[0]))};
}
/// x times a factor that no integer is: of integers in float64, and truncated.
Value scaled(Primitives& p, Value x, double factor) {
  const DType d = p.dtype(x);
  const Value y = is_floating(d) ? x : convert(p, x, DType::f64);
  return convert(p, p.mul(y, p.like(y, factor)), d);
}
Values degrees(Primitives& p, Args in, const Attrs&) { return {scaled(p, in[0], 180.0 / std::numbers::pi)}; }
Values radians(Primitives& p, Args in, const Attrs&) { return {scaled(p, in[0], std::numbers::pi / 180.0)}; }

constexpr OpReference elementary_reference = of_data | OpReference{.integers = integers_in_float32};
constexpr OpReference power_reference =
    elementary_reference |
    OpReference{.source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_pow.cc)."};
constexpr OpReference logexp_reference =
    elementary_reference |
    OpReference{.source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_logexp.cc)."};
constexpr OpReference trigonometric_reference =
    elementary_reference |
    OpReference{.source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_trig.cc)."};
constexpr OpReference sine_reference =
    trigonometric_reference | OpReference{.nan = "NaN, of infinities too."};
constexpr OpReference inverse_reference =
    trigonometric_reference | OpReference{.nan = "NaN, and where |x| > 1."};
constexpr OpReference angle_reference =
    trigonometric_reference |
    OpReference{.integers = "Computed in float64, then truncated and wrapped to the dtype. Of bools: x."};

std::vector<OpDef> power_rows() {
  return {
      pointwise("square", "The square of x.", square,
                power_reference | OpReference{.integers = "The product wraps. Of bools: x.",
                                              .gradient = "2 g x",
                                              .formula = "x x"}),
      pointwise("sqrt", "The square root of x.", unary<Unary::sqrt>,
                power_reference | OpReference{.nan = "NaN, and where x < 0; sqrt(-0) is -0.",
                                              .gradient = "g / (2 sqrt(x)), infinite at zeros",
                                              .formula = "sqrt(x), rounded correctly"}),
      pointwise(
          "rsqrt", "One divided by the square root of x.", unary<Unary::rsqrt>,
          power_reference | OpReference{.nan = "NaN, and where x < 0; infinite at zeros, with the sign of x.",
                                        .gradient = "-g / (2 x sqrt(x))",
                                        .formula = "1 / sqrt(x)"}),
      pointwise("cbrt", "The cube root of x.", unary<Unary::cbrt>,
                power_reference | OpReference{.gradient = "g / (3 cbrt(x)^2), infinite at zeros",
                                              .formula = "sign(x) |x|^(1/3)"}),
      pointwise(
          "rcbrt", "One divided by the cube root of x.", rcbrt,
          power_reference | OpReference{.nan = "NaN; infinite at zeros, with the sign of x.",
                                        .integers = "The cube root is truncated, and the quotient too: 1 and "
                                                    "-1 where the root gives 1 and -1, else 0. Of bools: x.",
                                        .gradient = "-g / (3 x cbrt(x))",
                                        .formula = "1 / cbrt(x)"}),
  };
}

std::vector<OpDef> logexp_rows() {
  return {
      pointwise("exp", "The exponential function of x.", unary<Unary::exp>,
                logexp_reference | OpReference{.gradient = "g exp(x)", .formula = "e^x"}),
      pointwise("log", "The natural logarithm of x.", unary<Unary::log>,
                logexp_reference | OpReference{.nan = "NaN, and where x < 0; -infinity at zeros.",
                                               .gradient = "g / x",
                                               .formula = "log(x)"}),
      pointwise("log10", "The logarithm of x to the base 10.", unary<Unary::log10>,
                logexp_reference | OpReference{.nan = "NaN, and where x < 0; -infinity at zeros.",
                                               .gradient = "g / (x log(10))",
                                               .formula = "log(x) / log(10)"}),
      pointwise("log2", "The logarithm of x to the base 2.", unary<Unary::log2>,
                logexp_reference | OpReference{.nan = "NaN, and where x < 0; -infinity at zeros.",
                                               .gradient = "g / (x log(2))",
                                               .formula = "log(x) / log(2)"}),
      pointwise("log1p", "The natural logarithm of 1 + x, accurate near zero.", unary<Unary::log1p>,
                logexp_reference | OpReference{.nan = "NaN, and where x < -1; -infinity at -1.",
                                               .gradient = "g / (1 + x)",
                                               .formula = "log(1 + x)"}),
      pointwise("expm1", "The exponential function of x minus 1, accurate near zero.", unary<Unary::expm1>,
                logexp_reference | OpReference{.gradient = "g exp(x)", .formula = "e^x - 1"}),
  };
}

std::vector<OpDef> trigonometric_rows() {
  return {
      pointwise("sin", "The sine of x radians.", unary<Unary::sin>,
                sine_reference | OpReference{.gradient = "g cos(x)", .formula = "sin(x)"}),
      pointwise("cos", "The cosine of x radians.", unary<Unary::cos>,
                sine_reference | OpReference{.gradient = "-g sin(x)", .formula = "cos(x)"}),
      pointwise("tan", "The tangent of x radians.", unary<Unary::tan>,
                sine_reference | OpReference{.gradient = "g (1 + tan(x)^2)", .formula = "tan(x)"}),
      pointwise("arcsin", "The inverse of the sine, in radians.", unary<Unary::asin>,
                inverse_reference | OpReference{.gradient = "g / sqrt((1 - x)(1 + x)), infinite at -1 and 1",
                                                .formula = "y in [-pi/2, pi/2] with sin(y) = x"}),
      pointwise("arccos", "The inverse of the cosine, in radians.", unary<Unary::acos>,
                inverse_reference | OpReference{.gradient = "-g / sqrt((1 - x)(1 + x)), infinite at -1 and 1",
                                                .formula = "y in [0, pi] with cos(y) = x"}),
      pointwise("arctan", "The inverse of the tangent, in radians.", unary<Unary::atan>,
                trigonometric_reference | OpReference{.gradient = "g / (1 + x^2)",
                                                      .formula = "y in [-pi/2, pi/2] with tan(y) = x"}),
      pointwise(
          "sinh", "The hyperbolic sine of x.", unary<Unary::sinh>,
          trigonometric_reference | OpReference{.gradient = "g cosh(x)", .formula = "(e^x - e^-x) / 2"}),
      pointwise(
          "cosh", "The hyperbolic cosine of x.", unary<Unary::cosh>,
          trigonometric_reference | OpReference{.gradient = "g sinh(x)", .formula = "(e^x + e^-x) / 2"}),
      pointwise("tanh", "The hyperbolic tangent of x.", unary<Unary::tanh>,
                trigonometric_reference |
                    OpReference{.gradient = "g (1 - tanh(x)^2)", .formula = "(e^x - e^-x) / (e^x + e^-x)"}),
      pointwise("arcsinh", "The inverse of the hyperbolic sine.", unary<Unary::asinh>,
                trigonometric_reference |
                    OpReference{.gradient = "g / sqrt(x^2 + 1)", .formula = "log(x + sqrt(x^2 + 1))"}),
      pointwise("arccosh", "The inverse of the hyperbolic cosine.", unary<Unary::acosh>,
                trigonometric_reference |
                    OpReference{.nan = "NaN, and where x < 1.",
                                .gradient = "g / (sqrt(x - 1) sqrt(x + 1)): infinite at 1, NaN below",
                                .formula = "log(x + sqrt(x^2 - 1))",
                                .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_trig.cc). Its "
                                          "gradient squares x, which overflows."}),
      pointwise("arctanh", "The inverse of the hyperbolic tangent.", unary<Unary::atanh>,
                trigonometric_reference | OpReference{.nan = "NaN, and where |x| > 1; infinite at -1 and 1.",
                                                      .gradient = "g / ((1 - x)(1 + x))",
                                                      .formula = "log((1 + x) / (1 - x)) / 2"}),
      pointwise("degrees", "Converts an angle from radians to degrees.", degrees,
                angle_reference | OpReference{.gradient = "(180 / pi) g", .formula = "(180 / pi) x"}),
      pointwise("radians", "Converts an angle from degrees to radians.", radians,
                angle_reference | OpReference{.gradient = "(pi / 180) g", .formula = "(pi / 180) x"}),
  };
}

std::vector<OpDef> other_rows() {
  return {
      pointwise(
          "reciprocal", "One divided by x.", reciprocal,
          power_reference | OpReference{.nan = "NaN; infinite at zeros, with the sign of x.",
                                        .integers = "Truncated: 1 and -1 stay, all others give 0, 0 too. "
                                                    "Of bools: x.",
                                        .gradient = "-g / x^2",
                                        .formula = "1 / x"}),
      pointwise(
          "negative", "The negation of x.", unary<Unary::neg>,
          unary_basic | OpReference{.nan = "NaN; zeros change their sign.",
                                    .integers = "Wraps: the least signed integer stays, of uint8 256 - x. "
                                                "Of bools: x.",
                                    .gradient = "-g",
                                    .formula = "-x"}),
      pointwise(
          "erf", "The error function of x.", unary<Unary::erf>,
          unary_basic | OpReference{.integers = integers_in_float32,
                                    .gradient = "g (2 / sqrt(pi)) e^(-x^2)",
                                    .formula = "(2 / sqrt(pi)) times the integral of e^(-t^2) from 0 to x"},
          {"_npx_erf"}),
  };
}

}  // namespace

std::vector<OpDef> elementary_ops() {
  std::vector<OpDef> all;
  for (auto rows : {power_rows, logexp_rows, trigonometric_rows, other_rows})
    for (OpDef& op : rows()) all.push_back(std::move(op));
  return all;
}

}  // namespace kiln::ops
