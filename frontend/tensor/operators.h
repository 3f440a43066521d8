#pragma once
#include <kiln/tensor.h>

namespace kiln::ir {
struct OpDef;
}

namespace kiln {

/// Python's operators on arrays and numbers, and the functions that go with them.
enum class Arithmetic {
  add,
  sub,
  mul,
  div,
  mod,
  pow,
  max,
  min,
  hypot,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  logical_xor
};

/// Applies one: with broadcasting where shapes are known, as elemwise_* where they are equal or unknown, as
/// *_scalar with a number. At least one side is a tensor.
Tensor arithmetic(Arithmetic op, const Operand& a, const Operand& b, std::source_location where);
/// The same as an operator in the program's text, `a + b`: numpy's in a program in numpy mode.
Tensor python_operator(Arithmetic op, const Operand& a, const Operand& b, std::source_location where);
/// The value of `target op= b`. Throws where it has another shape or dtype than the target.
Tensor in_place(Arithmetic op, const Tensor& target, const Operand& b, std::source_location where);

/// The operator that computes what `op_name` does, where that is one on equal shapes (elemwise_add), for all
/// shapes (broadcast_add); else `op_name`.
std::string_view broadcasting_form(std::string_view op_name);

/// The operator on two tensors that computes what an operator with a number does, when the number is an array
/// of shape (1,): the same roundings, for float32 and float64.
struct TensorForm {
  const ir::OpDef* op = nullptr;  // null: none
  bool number_left = false;
};
TensorForm tensor_form(const ir::OpDef& scalar_op);

}  // namespace kiln
