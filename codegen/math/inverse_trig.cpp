// asin, acos, atan: odd polynomials on a short interval, the rest by identities. The polynomials are minimax
// fits (Remez; in f32 Lawson's method, each coefficient rounded before the next ones are fitted).
#include "codegen/math/functions.h"
#include "codegen/math/unary.h"

namespace kiln::codegen {
namespace {

/// y^3 P(y^2) with asin(y) = y + y^3 P(y^2) for |y| <= 1/2, w = y^2. 2^-39.8, 2^-59.
Num asin_tail(Num y, Num w, Digits digits) {
  Num p = digits == Digits::single
              ? polynomial(w, {0.16666666626821855, 0.075000050332939522, 0.044640690464034377,
                               0.030426802240553417, 0.021863310091599669, 0.020657823333328558,
                               0.0019508745357350583, 0.032939927287087459})
              : polynomial(
                    w, {0.16666666666666763, 0.074999999999702402, 0.044642857175141402, 0.030381942682620847,
                        0.0223722156887389, 0.017351599572850644, 0.013980967784858337, 0.011397723168769559,
                        0.010786831056034766, 0.0036818777008622871, 0.021766391134247901,
                        -0.021081470540222625, 0.0326795572066442});
  return y * w * p;
}
/// The argument of the kernel: |x| itself, or sqrt((1 - |x|) / 2) where |x| > 1/2 (NaN beyond 1).
struct Folded {
  Num large, y, w;
};
Folded fold(Num x) {
  Num size = abs(x);
  Num large = gt(size, 0.5);
  Num w = select(large, (1 - size) * 0.5, x * x);
  return {large, select(large, sqrt(w), size), w};
}

/// pi/2 in two words of f32.
constexpr double kHalfPi32 = 0x1.921fb6p+0, kHalfPiLow32 = -0x1.777a5cp-25;

/// The same tail in f32: 2^-27.6.
Num asin_tail_f32(const Folded& a) {
  return a.y * a.w * polynomial(a.w, {0.166667521, 0.0749530941, 0.0454691537, 0.0241847374, 0.0421584137});
}
/// About sqrt(w) - y, the rounding error of the root: (w - y^2) / 2y, with a tangent in place of 1 / 2y. The
/// tangent is near where y > 1/4, and too small below, where this word matters less.
Num lost_by_root(const Folded& a) { return fma(-a.y, a.y, a.w) * fma(a.y, -3.4, 2.6); }

/// high + low = a - b, for |a| >= |b|.
Pair difference(double a, Num b) {
  Num high = a - b;
  return {high, (a - high) - b};
}

}  // namespace

static Num asin_f32(Num x) {
  Folded a = fold(x);
  Num tail = asin_tail_f32(a);
  Pair rest = difference(kHalfPi32, a.y * 2);
  Num outer = rest.high + (rest.low - fma(tail + lost_by_root(a), 2, -kHalfPiLow32));
  return copysign(select(a.large, outer, a.y + tail), x);
}

static Num acos_f32(Num x) {
  Folded a = fold(x);
  Num tail = asin_tail_f32(a);
  Pair rest = difference(kHalfPi32, copysign(a.y, x));
  Num inner = rest.high + (rest.low - (copysign(tail, x) - kHalfPiLow32));
  Num twice = a.y * 2;
  Num positive = fma(tail + lost_by_root(a), 2, twice);
  Num negative = 2 * kHalfPi32 - (twice + fma(tail, 2, -2 * kHalfPiLow32));
  return select(a.large, select(lt(x, 0), negative, positive), inner);
}

static Num atan_f32(Num x) {
  constexpr double kLarge = 0x1p30;  // pi/2 from here on
  Num t = abs(x);
  t = select(gt(t, kLarge), kLarge, t);
  Num far = gt(t, 1);
  Num z = select(far, -1 / t, t);
  Num w = z * z;
  Num p = polynomial(w, {-0.333332986, 0.19998531, -0.142640516, 0.109511741, -0.0840046927, 0.0579063557,
                         -0.0311267059, 0.0108871358, -0.00178748043});  // 2^-28.5
  // The rounding error of the quotient, -1/t - z, times the derivative of atan where it matters, for z from
  // 0.6 to 1.
  Num lost = fma(z, t, 1) * (z * 0.6);
  Num low = select(far, lost + kHalfPiLow32, t.constant(0));
  Num base = select(far, kHalfPi32, t.constant(0));
  Num high = base + z;
  Num rest = select(far, (base - high) + z, t.constant(0));
  return copysign(high + (fma(z * w, p, low) + rest), x);
}

static Num asin(Num x, Digits digits) {
  Folded a = fold(x);
  Num tail = asin_tail(a.y, a.w, digits);
  Num outer = kHalfPi - (a.y + (tail - kHalfPiLow * 0.5)) * 2;
  return copysign(select(a.large, outer, a.y + tail), x);
}

static Num acos(Num x, Digits digits) {
  Folded a = fold(x);
  Num tail = asin_tail(a.y, a.w, digits);
  Num angle = a.y + tail;  // asin of |x|, or half the acos of |x|
  Num negative = lt(x, 0);
  Num inner = kHalfPi - (copysign(angle, x) - kHalfPiLow);
  Num outer = select(negative, 2 * (kHalfPi - (angle - kHalfPiLow)), angle * 2);
  return select(a.large, outer, inner);
}

static Num atan(Num x, Digits digits) {
  Num t = abs(x);
  Num far = gt(t, 2.414213562373095), middle = gt(t, 0.41421356237309503);
  Num numerator = select(far, -1, select(middle, t - 1, t));
  Num denominator = select(far, t, select(middle, t + 1, t.constant(1)));
  Num z = numerator / denominator;
  Num base = select(far, kHalfPi, select(middle, kHalfPi / 2, t.constant(0)));
  Num base_low = select(far, kHalfPiLow, select(middle, kHalfPiLow / 2, t.constant(0)));
  Num w = z * z;
  Num p = digits == Digits::single  // 2^-40, 2^-58.7
              ? polynomial(
                    w, {-0.33333333296510437, 0.19999994414070976, -0.14285426875952004, 0.11104059271455119,
                        -0.089973167229095097, 0.0699323437748713, -0.037957702050025688})
              : polynomial(w, {-0.33333333333333198, 0.19999999999953993, -0.14285714280239278,
                               0.11111110785658655, -0.090908978221827322, 0.076920613751011169,
                               -0.066631173169055397, 0.058479859925723916, -0.050397396472073884,
                               0.038075569763318197, -0.017919202994639664});
  Num y = base + (z + fma(z * w, p, base_low));
  return copysign(y, x);
}

std::span<const UnaryFormula> inverse_trig_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::asin, asin, asin_f32, 2},
      {Unary::acos, acos, acos_f32, 2},
      {Unary::atan, atan, atan_f32, 2},
  };
  return formulas;
}

}  // namespace kiln::codegen
