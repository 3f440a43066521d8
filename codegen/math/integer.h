// Integer arithmetic that is always defined.
#pragma once
#include "codegen/math/num.h"

/// Integer arithmetic that never traps and is never undefined. `no_sign`: uint8.
namespace kiln::codegen {

/// Toward zero; x / 0 = 0, and the least value over -1 wraps to itself.
Num integer_divide(Num a, Num b, bool no_sign);
/// With the sign of the divisor; x mod 0 = 0.
Num integer_mod(Num a, Num b, bool no_sign);

}  // namespace kiln::codegen
