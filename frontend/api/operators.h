// Python's operators on tensors.
#pragma once
#include "frontend/call/arithmetic.h"

#include <kiln/tensor.h>

namespace kiln {

/// Applies one: broadcast_* for different shapes, elemwise_* for equal or unknown ones, *_scalar with a
/// number. At least one operand is a tensor.
Tensor arithmetic(Arithmetic op, const Operand& a, const Operand& b, std::source_location where);
/// Applies an operator expression of the program, `a + b`: numpy's in numpy mode.
Tensor python_operator(Arithmetic op, const Operand& a, const Operand& b, std::source_location where);
/// The value of `target op= b`. Throws if its shape or dtype is not the target's.
Tensor in_place(Arithmetic op, const Tensor& target, const Operand& b, std::source_location where);

}  // namespace kiln
