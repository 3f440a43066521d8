// x^y = 2^(y log2 |x|), with the logarithm in two words so that the result keeps its bits where the exponent
// is large.
#include "codegen/math/functions.h"

namespace kiln::codegen {
namespace {

/// log2 of finite t > 0, to about 2^-60.
Pair log2_pair(Num t) {
  constexpr std::int64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd;
  Num subnormal = lt(t, 0x1p-1022);
  Num adjust = select(subnormal, 0x1p52 + 1023 + 54, t.constant(0x1p52 + 1023));
  t = select(subnormal, t * 0x1p54, t);
  Num biased = shift_right_logical(bits(t) + (kOne - kSqrtHalf), 52);
  Num e = from_bits(biased | 0x4330000000000000) - adjust;
  Num f = from_bits(bits(t) - (biased << 52) + kOne) - 1;
  // s = f / (2 + f) in two words; log(1 + f) = 2 s + s^3 (2/3 + ...)
  Num d = f + 2;
  Num d_low = f - (d - 2);
  Num s = f / d;
  Num s_low = (fma(-s, d, f) - s * d_low) / d;
  Num w = s * s, w_low = fma(s, s, -w) + s * s_low * 2;
  Num cube = w * s, cube_low = fma(w, s, -cube) + fma(w_low, s, w * s_low);
  Num rest =
      w * polynomial(w, {0.40000000000006236, 0.28571428569088719, 0.2222222264643185, 0.18181775688941498,
                         0.15387089986064978, 0.1325013019865581, 0.13251262975670092});
  constexpr double kTwoThirds = 0x1.5555555555555p-1, kTwoThirdsLow = 0x1.5555555555555p-55;
  Num p = rest + kTwoThirds, p_low = ((kTwoThirds - p) + rest) + kTwoThirdsLow;
  Num tail = cube * p, tail_low = fma(cube, p, -tail) + fma(cube, p_low, cube_low * p);
  Num high = s * 2 + tail;
  Num low = ((s * 2 - high) + tail) + fma(s_low, 2, tail_low);
  // times log2(e), plus e
  constexpr double kLog2E = 0x1.71547652b82fep+0, kLog2ELow = 0x1.777d0ffda0d24p-56;
  Num product = high * kLog2E;
  Num product_low = fma(high, kLog2E, -product) + fma(high, kLog2ELow, low * kLog2E);
  Num sum = e + product;
  return {sum, ((e - sum) + product) + product_low};  // |e| >= |product| or e = 0
}

}  // namespace

Num pow(Num x, Num y, Digits digits) {
  Num t = abs(x);
  Num v = x, v_low = x.constant(0);
  if (digits == Digits::single) {
    v = log2(t, Digits::full);
    v = select(eq(v, 0), 0, y * v);  // 1 to the infinity
  } else {
    Pair l = log2_pair(t);
    Num limit = select(eq(t, 0), -kInf, select(lt(t, kInf), l.high, kInf));
    v = select(eq(limit, 0) & eq(l.low, 0), 0, y * limit);
    v_low = select(lt(abs(v), 1100), fma(y, l.high, -v) + y * l.low, 0);
    v_low = select(eq(limit, 0) & eq(l.low, 0), 0, v_low);
  }
  Num result = exp2(v, v_low, digits);
  // The sign and the domain for x < 0.
  Num half = y * 0.5;
  Num integer = eq(trunc(y), y);
  Num odd = integer & ne(trunc(half), half);
  Num negative = lt(bits(x), 0);
  result = select(negative & odd, -result, result);
  result = select(lt(x, 0) & lt(t, kInf) & ~integer, x.constant(kNaN), result);
  result = select(is_nan(x) | is_nan(y), x.constant(kNaN), result);
  return select(eq(y, 0) | eq(x, 1), 1, result);
}

}  // namespace kiln::codegen
