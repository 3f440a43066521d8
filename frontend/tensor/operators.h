#pragma once
#include <kiln/tensor.h>

namespace kiln::ir {
struct OpDef;
}

namespace kiln {

/// Python's operators on arrays and numbers, and related functions.
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

/// Applies one: broadcast_* for different shapes, elemwise_* for equal or unknown ones, *_scalar with a
/// number. At least one operand is a tensor.
Tensor arithmetic(Arithmetic op, const Operand& a, const Operand& b, std::source_location where);
/// Applies an operator expression of the program, `a + b`: numpy's in numpy mode.
Tensor python_operator(Arithmetic op, const Operand& a, const Operand& b, std::source_location where);
/// The value of `target op= b`. Throws if its shape or dtype is not the target's.
Tensor in_place(Arithmetic op, const Tensor& target, const Operand& b, std::source_location where);

/// The broadcasting form (broadcast_add) of an elemwise operator (elemwise_add); else `op_name`.
std::string_view broadcasting_form(std::string_view op_name);

/// The two-tensor form of an operator with a number, which becomes an array of shape (1,). Same roundings,
/// for float32 and float64.
struct TensorForm {
  const ir::OpDef* op = nullptr;  // null: none
  bool number_left = false;
};
TensorForm tensor_form(const ir::OpDef& scalar_op);

}  // namespace kiln
