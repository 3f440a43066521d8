// The elementary functions that are parts of others or take two operands.
#pragma once
#include "codegen/math/num.h"

#include <limits>

/// The elementary functions that are parts of others or take two operands (codegen/math/unary.h has the
/// others), over vectors or scalars of f32 or f64, branch-free except for repeat_while() and replace_rare().
/// Results for NaN, infinities, signed zeros, subnormals, poles and overflow follow Annex F of C. Bounds
/// are in units in the last place (ULP) of the result's type; tests/codegen/math_test.cpp holds them against
/// a high-precision reference.
///
/// Functions named _f32 compute in f32. The others compute in f64, and a float goes through them with
/// Digits::single. Its shorter polynomials have an error below 2^-34, which leaves the result after rounding
/// to f32 within 0.51 ULP.
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

/// exp of |x| <= 88 and NaN only, to 1 ULP, and 0 for results below 2^-126.5.
Num exp_moderate_f32(Num x);

Num exp(Num x);
/// 2^(v + tail), |tail| much less than 1.
Num exp2(Num v, Num tail, Digits);
/// expm1(x) / 4, which does not overflow below 710.5 and is constant above.
Num expm1_quarter(Num x, Digits);

Num log(Num x, Digits);
Num log2(Num x, Digits);
Num log1p(Num x, Digits);

Num hypot(Num x, Num y, Digits);
Num pow(Num x, Num y, Digits);

/// Halves away from zero.
Num round_half_away(Num x);
/// The remainder with the sign of the divisor, exact where that is representable; 0 for a zero divisor.
Num floor_mod(Num a, Num b);

/// x clamped to [low, high]; NaN stays NaN.
Num clamp(Num x, double low, double high);

}  // namespace kiln::codegen
