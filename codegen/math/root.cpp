// cbrt and hypot in f64.
#include "codegen/math/functions.h"
#include "codegen/math/unary.h"

namespace kiln::codegen {

static Num cbrt(Num x, Digits digits) {
  constexpr double kMagic = 0x1.8p52;
  constexpr std::int64_t kOne = 0x3ff0000000000000;
  Num t = abs(x);
  Num scale_back = t.constant(1);
  if (digits == Digits::full) {
    Num subnormal = lt(t, 0x1p-1022);
    scale_back = select(subnormal, 0x1p-18, scale_back);
    t = select(subnormal, t * 0x1p54, t);
  }
  // t = 2^(3n) y with y in [1/2, 4)
  Num e = from_bits(shift_right_logical(bits(t), 52) | 0x4330000000000000) - (0x1p52 + 1023);
  Num third = fma(e, 1.0 / 3, kMagic);
  Num n = third - kMagic;
  Num power = bits(fma(n, -3, e) + kMagic);
  Num y = from_bits((bits(t) & 0x000fffffffffffff) | kOne) * from_bits((power << 52) + kOne);
  // A guess (minimax, 2^-10.4), then Halley's method, which triples the number of right bits.
  Num g = polynomial(y, {0.46598842330752893, 0.83509017270929808, -0.4267551421107208, 0.15325582838885998,
                         -0.029213027406210415, 0.0022268113645462079});
  for (int i = 0; i < (digits == Digits::single ? 1 : 2); ++i) {
    Num error = fma(g * g, g, -y);
    g = g - g * error / fma(error, 2, y * 3);
  }
  Num root = g * from_bits((bits(third) << 52) + kOne) * scale_back;
  Num special = eq(x, 0) | ~lt(t, kInf);
  return select(special, x, copysign(root, x));
}

Num hypot(Num x, Num y, Digits digits) {
  x = abs(x);
  y = abs(y);
  Num infinite = eq(x, kInf) | eq(y, kInf);
  Num back = x.constant(1);
  if (digits == Digits::full) {  // squares of floats neither overflow nor vanish
    Num large = gt(x, 0x1p500) | gt(y, 0x1p500);
    Num small = lt(x, 0x1p-500) & lt(y, 0x1p-500);
    Num scale = select(large, 0x1p-600, select(small, 0x1p600, back));
    back = select(large, 0x1p600, select(small, 0x1p-600, back));
    x = x * scale;
    y = y * scale;
  }
  Num root = sqrt(fma(x, x, y * y)) * back;
  return select(infinite, kInf, root);
}

std::span<const UnaryFormula> root_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::sqrt, [](Num x, Digits) { return sqrt(x); }, sqrt, 0},
      {Unary::rsqrt, [](Num x, Digits) { return 1 / sqrt(x); }, [](Num x) { return 1 / sqrt(x); }, 0},
      {Unary::cbrt, cbrt, nullptr, 1},
  };
  return formulas;
}

}  // namespace kiln::codegen
