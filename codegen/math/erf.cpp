// The error function: an odd polynomial near zero, 1 - erfc(|x|) beyond. Minimax fits (Remez, 160 bits).
#include "codegen/math/functions.h"
#include "codegen/math/unary.h"

namespace kiln::codegen {

static Num erf_f32(Num x) {
  Num t = abs(x);
  Num p = polynomial(t * t, {0.128379166, -0.376126081, 0.112833261, -0.0268419534, 0.00516493106,
                             -0.000780210888, 7.16841532e-05});  // 2^-27
  Num small = fma(t, p, t);
  // g = erfc(t)^(1/4) on [1.11, 4]: a root is smooth enough for few coefficients, and a fourth power costs
  // less than an exponential. Beyond 3.92 erfc is below half an ULP of 1. The fit's error is least there, so
  // that 1 - erfc reaches 1: 1 + erf(x) is then 0 for x below -3.94. About 1.375, since g's rounding counts
  // at the left end only; the difference is exact there.
  Num g = polynomial(select(gt(t, 4), 4, t) - 1.375,
                     {0.477139235, -0.392077714, 0.055836875, 0.0389187634, -0.0112128584, -0.00266122236,
                      0.00151471852, -0.000182328833});  // 2^-25.8 of 1, 2^-28 from 3 on
  Num square = g * g;
  Num large = fma(-square, square, 1);
  return copysign(select(gt(t, 1.11), large, small), x);
}

static Num erf(Num x) {
  Num t = abs(x);
  Num w = t * t;
  Num p = polynomial(
      w, {0.12837916709551259, -0.37612638903183748, 0.11283791670954857, -0.026866170645072917,  // 2^-56
          0.0052239776247810215, -0.00085483269787480203, 0.00012055331037000708, -1.4925593506833891e-05,
          1.6460972779987541e-06, -1.6350024487587875e-07, 1.4657872854526921e-08, -1.1365631972408314e-09,
          5.9451938456907176e-11});
  Num small = fma(t, p, t);
  // erfc(u) = e^(-u^2) F / (1 + 2u), F a polynomial in (u - 3) / (u + 3) on [0.95, 6.05]: 2^-50.9 of erfc.
  Num u = select(gt(t, 6), 6, t);
  Num f = polynomial(
      (u - 3) / (u + 3),
      {1.2530080582697296, -0.13562110612459535, -0.047562294353479334, 0.12964515870579682,
       -0.11927366341025054, 0.068308027158535317, -0.023770515272228388, 0.0025293966263594263,
       0.0018887015207343281, -0.00077989055172252562, -0.0001053304957496569, 0.00012538624103675548,
       6.1844764007813817e-06, -2.0045125511838395e-05, -4.0825364386596851e-06});
  Num large = 1 - exp(-(u * u)) * f / fma(u, 2, 1);
  return copysign(select(gt(t, 1), large, small), x);
}

std::span<const UnaryFormula> erf_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::erf, [](Num x, Digits) { return erf(x); }, erf_f32, 4},
  };
  return formulas;
}

}  // namespace kiln::codegen
