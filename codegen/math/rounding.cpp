// Rounding to integers, and the floored remainder.
#include "codegen/math/functions.h"

namespace kiln::codegen {

Num round_half_away(Num x) {
  Num t = trunc(x);
  Num up = ge(abs(x - t), 0.5);  // x - t is exact
  return copysign(select(up, t + copysign(x.constant(1), x), t), x);
}

Num floor_mod(Num a, Num b) {
  Num size = abs(b);
  // r stays a - (a whole number) b, exactly: the remainder of a quotient that was rounded to nearest,
  // truncated to a whole number or not, is representable. Quotients below 2^53 take one step (their truncated
  // quotient is at most 1 too large), larger ones lose 53 bits a step.
  Num r = repeat_while(
      a, [&](Num x) { return ge(abs(x), size); },
      [&](Num x) {
        Num divisor = b;
        for (int i = 0; i < 2; ++i)  // so that the quotient does not overflow
          divisor = select(gt(abs(x) * 0x1p-1000, abs(divisor)), divisor * 0x1p900, divisor);
        return fma(-trunc(x / divisor), divisor, x);
      });
  // A zero has the sign of a, but +0 where b has another: as MXNet, which adds 0 there.
  r = select(eq(r, 0), select(lt(a, 0) ^ lt(b, 0), 0, copysign(r, a)), r);
  Num other_sign = (lt(r, 0) & gt(b, 0)) | (gt(r, 0) & lt(b, 0));
  r = select(other_sign, r + b, r);
  return select(eq(b, 0), 0, select(is_nan(b), b, r));
}

}  // namespace kiln::codegen
