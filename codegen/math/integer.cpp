// Integer division by floating-point quotients.
#include "codegen/math/integer.h"

namespace kiln::codegen {
namespace {

/// a / b for b not 0, nor -1 with a sign. No target divides integer vectors. Up to 32 bits the quotient of
/// floats is close enough that truncation gives the right integer: a quotient that is not whole is further
/// from the next whole number than a rounding reaches.
Num quotient(Num a, Num b, bool no_sign) {
  int width = a.width();
  if (width == 64) return divide_signed(a, b);
  auto wide = [&](Num x) { return no_sign ? resize_unsigned(x, 32) : resize_signed(x, 32); };
  int precision = width == 32 ? 64 : 32;
  Num q = float_from_signed(wide(a), precision) / float_from_signed(wide(b), precision);
  return resize_signed(signed_from_float(q, 32), width);
}

}  // namespace

Num integer_divide(Num a, Num b, bool no_sign) {
  Num zero = eq(b, 0);
  if (no_sign) return select(zero, 0, quotient(a, select(zero, 1, b), no_sign));
  Num minus_one = eq(b, -1);
  Num q = quotient(a, select(zero | minus_one, 1, b), no_sign);
  return select(zero, 0, select(minus_one, -a, q));
}

Num integer_mod(Num a, Num b, bool no_sign) {
  Num r = a - integer_divide(a, b, no_sign) * b;
  if (!no_sign) r = select(ne(r, 0) & lt(r ^ b, 0), r + b, r);
  return select(eq(b, 0), 0, r);
}

}  // namespace kiln::codegen
