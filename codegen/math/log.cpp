// Logarithms: x = 2^e m with m near 1. In f64 with s = f / (2 + f), f = m - 1, log(1 + f) = f - (f^2/2 - s
// (f^2/2 + R(s^2))), the arrangement of fdlibm; in f32 a polynomial in f. Coefficients are minimax fits
// (Remez, 140 bits; of log2, log10 and log1p in f32 by Lawson's method, each coefficient rounded before the
// next ones are fitted).
#include "codegen/math/functions.h"
#include "codegen/math/unary.h"
#include "codegen/math/x86.h"

namespace kiln::codegen {
namespace {

/// The values at the poles and outside the domain.
Num with_limits(Num x, Num log_x) {
  if (has_log_limits(x)) return log_limits(log_x, x);
  Num finite = select(lt(x, kInf), log_x, x);
  return select(gt(x, 0), finite, select(eq(x, 0), -kInf, x.constant(kNaN)));
}

/// x = 2^e (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1], for finite x > 0.
struct LogParts {
  Num e, f;
};
LogParts split_f64(Num x, Digits digits) {
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

/// The same in f32: 1 + f from the number with the bits `least` up to twice that.
LogParts split_f32(Num x, std::int64_t least) {
  Num subnormal = lt(x, 0x1p-126);
  Num y = select(subnormal, x * 0x1p23, x);
  Num e = (bits(y) - least) >> 23;
  Num f = from_bits(bits(y) - (e << 23)) - 1;
  return {float_from_signed(e, 32) + select(subnormal, -23.0, x.constant(0)), f};
}

/// The same, f in [-1/4, 1/2).
LogParts split_as_x86(Num x) {
  if (has_exponents(x)) {
    Num m = mantissa(x), e = exponent(x);
    return {select(lt(m, 1), e + 1, e), m - 1};
  }
  return split_f32(x, 0x3f400000);
}

/// log(1 + f) in f32, f in [-1/4, 1/2].
Num log_of_mantissa(Num f) {
  Num p = polynomial(f, {0.333333403, -0.250001639, 0.199995786, -0.166553155, 0.142767996, -0.127284199,
                         0.116970666, -0.0910654441, 0.0376053639});  // 2^-30
  return fma(f * f, fma(p, f, -0.5), f);
}

/// n + f k in two words. Where they nearly cancel, the first is exact.
Pair sum_of_multiple(Num n, Num f, double k) {
  Num high = fma(f, k, n);
  return {high, fma(f, k, n - high)};
}

}  // namespace

static Num log_f32(Num x) {
  auto [n, f] = split_as_x86(x);
  return with_limits(x, fma(n, 0x1.62e43p-1, log_of_mantissa(f)));
}

constexpr std::int64_t two_thirds = 0x3f2aaaab;  // f in [-1/3, 1/3)

// log2(1 + f) and log10(1 + f) = f (k + t), with k a number of few bits near log2(e), or log10(e). Then t is
// small and its rounding hardly matters.
static Num log2_f32(Num x) {
  auto [n, f] = split_f32(x, two_thirds);
  constexpr double kLog2E = 0x1.71547652b82fep+0, kNear = 1.4375;
  Num q = polynomial(f, {-0.721347511, 0.480896711, -0.36067149, 0.288686544, -0.240633741, 0.20209761,
                         -0.175922066, 0.201599464, -0.185514763});  // 2^-27.6
  Num t = fma(f, q, kLog2E - kNear);
  Pair sum = sum_of_multiple(n, f, kNear);
  return with_limits(x, sum.high + fma(f, t, sum.low));
}
static Num log10_f32(Num x) {
  auto [n, f] = split_f32(x, two_thirds);
  constexpr double kLog10E = 0x1.bcb7b1526e50ep-2, kNear = 0.4375;
  constexpr double kLog10Of2 = 0x1.34413509f79ffp-2, kHigh = 0x1.344p-2;  // n times kHigh is exact
  Num q = polynomial(f, {-0.217147246, 0.144764289, -0.108572409, 0.0869053751, -0.0724499449, 0.0608089417,
                         -0.0528452918, 0.060810525, -0.0562221855});  // 2^-27.7
  Num t = fma(f, q, kLog10E - kNear);
  Pair sum = sum_of_multiple(n * kHigh, f, kNear);
  return with_limits(x, sum.high + fma(f, t, fma(n, kLog10Of2 - kHigh, sum.low)));
}

static Num log1p_f32(Num x) {
  // 1 + x = 2^n (1 + f), f in [-1/4, 1/2] except for the rounding of u. f = x 2^-n + (2^-n - 1) is exact
  // while n <= 24, except for x = 1/2 - 2^-25, where u is rounded up to 3/2. If n is not 0, |x| is at least
  // 1/4: not subnormal.
  Num u = x + 1;
  Num e = (bits(u) - 0x3f400000) & -0x800000;  // n in the place of the exponent
  // 2^(2 - n): 2^-n would be subnormal for the greatest n.
  Num inverse = from_bits(0x40800000 - e);
  Num f = from_bits(bits(x) - e) + fma(inverse, 0.25, -1);
  Num n = float_from_signed(e >> 23, 32);
  return copysign(with_limits(u, fma(n, 0x1.62e43p-1, log_of_mantissa(f))), x);
}

Num log(Num x, Digits digits) {
  LogParts p = split_f64(x, digits);
  constexpr double kLn2High = 0x1.62e42fee00000p-1;  // e times this is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  Num small = log_small(p.f, digits);
  return with_limits(x, fma(p.e, kLn2High, p.f - fma(p.e, -kLn2Low, small)));
}

Num log2(Num x, Digits digits) {
  LogParts p = split_f64(x, digits);
  return with_limits(x, fma(p.f - log_small(p.f, digits), 0x1.71547652b82fep+0, p.e));
}

static Num log10(Num x, Digits digits) {
  LogParts p = split_f64(x, digits);
  constexpr double kHigh = 0x1.34413509f7000p-2;  // log10(2), e times this is exact
  constexpr double kLow = 0x1.3fde623e2566bp-43;
  Num log_m = p.f - log_small(p.f, digits);
  return with_limits(x, fma(p.e, kHigh, fma(log_m, 0x1.bcb7b1526e50ep-2, p.e * kLow)));
}

Num log1p(Num x, Digits digits) {
  Num u = x + 1;
  Num back = u - 1;
  Num lost = (1 - (u - back)) + (x - back);  // the rounding error of u
  Num correction = select(gt(u, 0) & lt(u, 0x1p60), lost / u, 0);
  // u is 0 or at least 2^-53: not subnormal.
  Num y = log(u, Digits::single == digits ? digits : Digits::full) + correction;
  return select(eq(x, 0), x, y);
}

std::span<const UnaryFormula> log_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::log, log, log_f32, 4},
      {Unary::log2, log2, log2_f32, 4},
      {Unary::log10, log10, log10_f32, 4},
      {Unary::log1p, log1p, log1p_f32, 4},
  };
  return formulas;
}

}  // namespace kiln::codegen
