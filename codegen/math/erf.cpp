// The error function: an odd polynomial near zero, 1 - erfc(|x|) beyond. Minimax fits (Remez, 160 bits).
#include "codegen/math/functions.h"

namespace kiln::codegen {

Num erf_f32(Num x) {
  Num t = abs(x);
  Num w = t * t;
  Num p = polynomial(
      w, {0.128379151, -0.376124799, 0.112816811, -0.0267616808, 0.00498589082, -0.000595351041});  // 2^-25
  Num small = fma(t, p, t);
  // log(erfc(t)) on [0.92, 3.95]; at its end erfc is below half an ULP of 1.
  Num u = select(gt(t, 3.95), 3.95, t);
  Num q = polynomial(u, u * u,
                     {0.000174690067, -1.12951493, -0.633346856, -0.10828016, 0.0251194742, -0.00417108182,
                      0.000434466609, -2.10954058e-05});
  Num large = 1 - exp_moderate_f32(q);
  return copysign(select(gt(t, 0.925), large, small), x);
}

Num erf(Num x) {
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

}  // namespace kiln::codegen
