#pragma once
#include "codegen/math/num.h"

#include <limits>

/// The elementary functions, over vectors or scalars of f32 or f64, branch-free but for repeat_while() and
/// replace_rare(). Results for NaN, infinities,
/// signed zeros, subnormals, poles and overflow are those of C's Annex F. Bounds are in units in the last
/// place (ULP) of the result's type; tests/codegen/math_test.cpp holds them against a high-precision
/// reference.
///
/// Those named _f32 compute in f32. The others compute in f64, and a float goes through them with
/// Digits::single: shorter polynomials whose error, below 2^-34, leaves the result after rounding to f32
/// within 0.51 ULP.
namespace kiln::codegen {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// pi / 2 in two words: high + low.
inline constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

/// A number in two words: high + low, |low| at most half an ULP of high.
struct Pair {
  Num high, low;
};

enum class Digits { single, full };

Num exp_f32(Num x);              ///< 1 ULP
Num exp_moderate_f32(Num x);     ///< the same for |x| <= 88 and NaN only, and 0 for results below 2^-126.5
Num exp_nonpositive_f32(Num x);  ///< the same for x <= 88 and NaN
Num exp2_f32(Num x);             ///< 0.8 ULP
Num log_f32(Num x);              ///< 1 ULP
Num log2_f32(Num x);             ///< 1 ULP
Num log10_f32(Num x);            ///< 1.05 ULP
Num log1p_f32(Num x);            ///< 1 ULP; 1.27 for 1/2 - 2^-25
Num sin_f32(Num x);              ///< 1.1 ULP
Num cos_f32(Num x);              ///< 1.1 ULP
Num tan_f32(Num x);              ///< 1.5 ULP
Num asin_f32(Num x);             ///< 0.8 ULP
Num acos_f32(Num x);             ///< 1 ULP
Num atan_f32(Num x);             ///< 1.05 ULP
Num tanh_f32(Num x);             ///< 1.5 ULP
Num erf_f32(Num x);              ///< 1.25 ULP

Num exp(Num x);
Num exp2(Num x);
/// 2^(v + tail), |tail| much less than 1.
Num exp2(Num v, Num tail, Digits);
Num expm1(Num x, Digits);
/// expm1(x) / 4, which does not overflow below 710.5 and is constant above.
Num expm1_quarter(Num x, Digits);

Num log(Num x, Digits);
Num log2(Num x, Digits);
Num log10(Num x, Digits);
Num log1p(Num x, Digits);

/// For an x that was converted from f32.
Num sin_of_f32(Num x);
Num cos_of_f32(Num x);
Num tan_of_f32(Num x);
Num sin(Num x);
Num cos(Num x);
Num tan(Num x);
Num asin(Num x, Digits);
Num acos(Num x, Digits);
Num atan(Num x, Digits);

Num sinh(Num x, Digits);
Num cosh(Num x, Digits);
Num tanh(Num x);
Num asinh(Num x, Digits);
Num acosh(Num x, Digits);
Num atanh(Num x, Digits);

Num erf(Num x);
Num cbrt(Num x, Digits);
Num hypot(Num x, Num y, Digits);
Num pow(Num x, Num y, Digits);

/// Halves away from zero.
Num round_half_away(Num x);
/// The remainder with the sign of the divisor, exact where that is representable; 0 for a zero divisor.
Num floor_mod(Num a, Num b);

/// x clamped to [low, high]; NaN stays NaN.
Num clamp(Num x, double low, double high);

}  // namespace kiln::codegen
