#pragma once
#include "codegen/math/num.h"

/// x86 instructions without an LLVM operation. Check first whether one exists for the width of the vectors.
namespace kiln::codegen {

/// p 2^n with one rounding, also where the result overflows or is subnormal.
bool has_scalef(Num p);
Num scalef(Num p, Num n);

/// select(gt(a, b), a, b) and select(lt(a, b), a, b), each as one instruction: LLVM would first combine the
/// comparison with surrounding ones.
bool has_extremes(Num a);
Num greater_or_second(Num a, Num b);
Num less_or_second(Num a, Num b);

}  // namespace kiln::codegen
