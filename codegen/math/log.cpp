// Logarithms: x = 2^e m with m near 1. In f64 with s = f / (2 + f), f = m - 1, log(1 + f) = f - (f^2/2 - s
// (f^2/2 + R(s^2))), the arrangement of fdlibm; in f32 a polynomial in f. Coefficients: minimax fits (Remez,
// 140 bits).
#include "codegen/math/functions.h"

namespace kiln::codegen {
namespace {

/// The values at the poles and outside the domain.
Num with_limits(Num x, Num log_x) {
  Num finite = select(lt(x, kInf), log_x, x);
  return select(gt(x, 0), finite, select(eq(x, 0), -kInf, x.constant(kNaN)));
}

/// x = 2^e (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1], for finite x > 0.
struct Parts {
  Num e, f;
};
Parts split_f64(Num x, Digits digits) {
  Num adjust = x.constant(0x1p52 + 1023);
  if (digits == Digits::full) {  // a float is never subnormal here
    Num subnormal = lt(x, 0x1p-1022);
    adjust = select(subnormal, 0x1p52 + 1023 + 54, adjust);
    x = select(subnormal, x * 0x1p54, x);
  }
  constexpr std::int64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd;
  Num biased = shift_right_logical(bits(x) + (kOne - kSqrtHalf), 52);
  Num e = from_bits(biased | 0x4330000000000000) - adjust;
  Num m = from_bits(bits(x) - (biased << 52) + kOne);
  return {e, m - 1};
}

/// log(1 + f) = f - small
Num log_small(Num f, Digits digits) {
  Num s = f / (f + 2);
  Num w = s * s;
  Num half = f * f * 0.5;
  Num r =
      digits == Digits::single  // 2^-37.6, 2^-61.6 of the logarithm
          ? polynomial(w, {0.66666665645701173, 0.40000335199115183, 0.28537303344066717, 0.2358232200989023})
          : polynomial(w,
                       {0.66666666666666663, 0.40000000000006236, 0.28571428569088719, 0.2222222264643185,
                        0.18181775688941498, 0.15387089986064978, 0.1325013019865581, 0.13251262975670092});
  return half - s * fma(w, r, half);
}

/// The exponent e of y = 2^e (1 + f), f in [-1/3, 1/3), as an integer; y is positive and not subnormal.
Num exponent_f32(Num y) { return (bits(y) - 0x3f2aaaab) >> 23; }
Num rest_f32(Num y, Num e) { return from_bits(bits(y) - (e << 23)) - 1; }

/// log(2^n (1 + f))
Num log_of_parts_f32(Num n, Num f) {
  Num p = polynomial(f, {0.333333343, -0.249998197, 0.199995965, -0.166795775, 0.14304474, -0.121957839,
                         0.1075406, -0.128450498, 0.120077655});  // 2^-28.6
  return fma(n, 0x1.62e43p-1, fma(f * f, fma(p, f, -0.5), f));
}

/// 1 + x is `u` + `lost`, where u is rounded (Dekker 1971). For x > -1.
struct OnePlus {
  Num u, lost;
};
OnePlus one_plus(Num x) {
  Num u = x + 1;
  Num back = u - 1;
  return {u, (1 - (u - back)) + (x - back)};
}

}  // namespace

Num log_f32(Num x) {
  Num subnormal = lt(x, 0x1p-126);
  Num y = select(subnormal, x * 0x1p23, x);
  Num e = exponent_f32(y);
  Num n = float_from_signed(e, 32) + select(subnormal, -23.0, x.constant(0));
  return with_limits(x, log_of_parts_f32(n, rest_f32(y, e)));
}

Num log1p_f32(Num x) {
  auto [u, lost] = one_plus(x);  // u is 0 or at least 2^-24: not subnormal
  Num e = exponent_f32(u);
  // 1 + f is (u + lost) / 2^e: f is exactly x where e is 0.
  Num power = from_bits(0x3f800000 - (e << 23));
  Num f = rest_f32(u, e) + select(lt(u, 0x1p60), lost * power, 0);
  Num y = with_limits(u, log_of_parts_f32(float_from_signed(e, 32), f));
  return select(eq(x, 0), x, y);
}

Num log(Num x, Digits digits) {
  Parts p = split_f64(x, digits);
  constexpr double kLn2High = 0x1.62e42fee00000p-1;  // e times this is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  Num small = log_small(p.f, digits);
  return with_limits(x, fma(p.e, kLn2High, p.f - fma(p.e, -kLn2Low, small)));
}

Num log2(Num x, Digits digits) {
  Parts p = split_f64(x, digits);
  return with_limits(x, fma(p.f - log_small(p.f, digits), 0x1.71547652b82fep+0, p.e));
}

Num log10(Num x, Digits digits) {
  Parts p = split_f64(x, digits);
  constexpr double kHigh = 0x1.34413509f7000p-2;  // log10(2), e times this is exact
  constexpr double kLow = 0x1.3fde623e2566bp-43;
  Num log_m = p.f - log_small(p.f, digits);
  return with_limits(x, fma(p.e, kHigh, fma(log_m, 0x1.bcb7b1526e50ep-2, p.e * kLow)));
}

Num log1p(Num x, Digits digits) {
  auto [u, lost] = one_plus(x);
  Num correction = select(gt(u, 0) & lt(u, 0x1p60), lost / u, 0);
  // u is 0 or at least 2^-53: not subnormal.
  Num y = log(u, Digits::single == digits ? digits : Digits::full) + correction;
  return select(eq(x, 0), x, y);
}

}  // namespace kiln::codegen
