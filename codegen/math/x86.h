#pragma once
#include "codegen/math/num.h"

/// Instructions of x86 for which LLVM has no operation of its own. Ask first whether there are any for
/// vectors as wide as these.
namespace kiln::codegen {

/// p 2^n with one rounding, also where the result overflows or is subnormal.
bool has_scalef(Num p);
Num scalef(Num p, Num n);

/// select(gt(a, b), a, b) and select(lt(a, b), a, b), each as the one instruction it is: LLVM would join the
/// comparison with others around it first.
bool has_extremes(Num a);
Num greater_or_second(Num a, Num b);
Num less_or_second(Num a, Num b);

}  // namespace kiln::codegen
