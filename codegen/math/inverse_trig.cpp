// asin, acos, atan in f64: odd polynomials (minimax fits, Remez) on a short interval, the rest by identities.
#include "codegen/math/functions.h"

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

}  // namespace

Num asin(Num x, Digits digits) {
  Folded a = fold(x);
  Num tail = asin_tail(a.y, a.w, digits);
  Num outer = kHalfPi - (a.y + (tail - kHalfPiLow * 0.5)) * 2;
  return copysign(select(a.large, outer, a.y + tail), x);
}

Num acos(Num x, Digits digits) {
  Folded a = fold(x);
  Num tail = asin_tail(a.y, a.w, digits);
  Num angle = a.y + tail;  // asin of |x|, or half the acos of |x|
  Num negative = lt(x, 0);
  Num inner = kHalfPi - (copysign(angle, x) - kHalfPiLow);
  Num outer = select(negative, 2 * (kHalfPi - (angle - kHalfPiLow)), angle * 2);
  return select(a.large, outer, inner);
}

Num atan(Num x, Digits digits) {
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

}  // namespace kiln::codegen
