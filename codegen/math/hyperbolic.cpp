// Hyperbolic functions and their inverses, from expm1 and log1p; tanh of floats in f32.
#include "codegen/math/functions.h"
#include "codegen/math/unary.h"

namespace kiln::codegen {
namespace {
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// e^|x| - 1 over 2, and over 1 (which overflows first).
struct Half {
  Num half, whole;
};
Half half_expm1(Num x, Digits digits) {
  Num quarter = expm1_quarter(abs(x), digits);
  return {quarter * 2, quarter * 4};
}

/// x, which has no sign, kept to `high`; NaN becomes `high`. As integers, for which processors have units
/// that float arithmetic leaves free.
Num at_most(Num x, double high) {
  Num i = bits(x), limit = bits(x.constant(high));
  return from_bits(select(lt(i, limit), i, limit));
}
}  // namespace

static Num sinh(Num x, Digits digits) {
  Half e = half_expm1(x, digits);
  Num tail = select(gt(e.whole, 0x1p60), 0.5, e.half / (e.whole + 1));
  return copysign(e.half + tail, x);
}

static Num cosh(Num x, Digits digits) {
  Half e = half_expm1(x, digits);
  return e.half + (0.5 + 0.5 / (e.whole + 1));
}

static Num tanh(Num x) {
  Num e = expm1_quarter(clamp(abs(x) * 2, 0, 44), Digits::full) * 4;
  return copysign(e / (e + 2), x);
}

static Num tanh_f32(Num x) {
  Num t = abs(x);
  Num w = t * t;
  Num p = polynomial(w, {-0.333333164, 0.13332586, -0.0538523234, 0.0210717041, -0.00627424987});  // 2^-27.8
  Num small = fma(t * w, p, t);
  Num u = at_most(t, 10);
  Num e = exp_moderate_f32(u + u);
  Num large = 1 - 2 / (e + 1);
  return copysign(select(gt(t, 0.55), large, small), x);
}

static Num asinh(Num x, Digits digits) {
  Num t = abs(x);
  Num huge = gt(t, 0x1p60);
  Num square = t * t;
  Num y = select(huge, t, t + square / (1 + sqrt(square + 1)));
  return copysign(log1p(y, digits) + select(huge, kLn2, t.constant(0)), x);
}

static Num acosh(Num x, Digits digits) {
  Num t = x - 1;
  Num huge = gt(x, 0x1p60);
  // Below 1 the root is NaN, or is made so.
  Num y = select(huge, x, t + sqrt(select(lt(t, 0), -1, t * (t + 2))));
  return log1p(y, digits) + select(huge, kLn2, x.constant(0));
}

static Num atanh(Num x, Digits digits) {
  Num t = abs(x);
  Num y = (t + t) / (1 - t);  // at 1 infinite, beyond below -1: NaN
  return copysign(log1p(y, digits) * 0.5, x);
}

std::span<const UnaryFormula> hyperbolic_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::sinh, sinh, nullptr, 1},
      {Unary::cosh, cosh, nullptr, 1},
      {Unary::tanh, [](Num x, Digits) { return tanh(x); }, tanh_f32, 4},
      {Unary::asinh, asinh, nullptr, 1},
      {Unary::acosh, acosh, nullptr, 1},
      {Unary::atanh, atanh, nullptr, 1},
  };
  return formulas;
}

}  // namespace kiln::codegen
