// Rounding to integers, and the floored remainder.
#include "codegen/math/functions.h"

namespace kiln::codegen {

Num round_half_away(Num x) {
  Num t = trunc(x);
  Num up = ge(abs(x - t), 0.5);  // x - t is exact
  return copysign(select(up, t + copysign(x.constant(1), x), t), x);
}

Num floor_mod(Num a, Num b) {
  Num r = fmod(a, b);
  Num other_sign = (lt(r, 0) & gt(b, 0)) | (gt(r, 0) & lt(b, 0));
  return select(eq(b, 0), 0, select(other_sign, r + b, r));
}

}  // namespace kiln::codegen
