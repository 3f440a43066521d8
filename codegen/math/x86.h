// x86 instructions without an LLVM operation.
#pragma once
#include "codegen/math/num.h"

/// x86 instructions without an LLVM operation. Check first whether one exists for the width of the vectors.
namespace kiln::codegen {

/// p 2^n with one rounding, also where the result overflows or is subnormal.
bool has_scalef(Num p);
Num scalef(Num p, Num n);

/// For a finite x > 0, subnormal or not, x = 2^e m with m in [3/4, 3/2). The exponent e is one more than
/// usual if m would be in [3/2, 2). For other x any values.
bool has_exponents(Num x);
Num exponent(Num x);
Num mantissa(Num x);

/// `log_x` where x is finite and greater than 0; else -inf for 0, inf for inf, NaN.
bool has_log_limits(Num x);
Num log_limits(Num log_x, Num x);

/// select(gt(a, b), a, b) and select(lt(a, b), a, b), each as one instruction: LLVM would first combine the
/// comparison with surrounding ones.
bool has_extremes(Num a);
Num greater_or_second(Num a, Num b);
Num less_or_second(Num a, Num b);

}  // namespace kiln::codegen
