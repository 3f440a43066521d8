// The operators of MXNet that implement Python's operators on arrays and numbers.
#pragma once
#include <string_view>

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

/// MXNet's operators for one Python operator, and the name hints that MXNet gives their nodes.
struct ArithmeticNames {
  Arithmetic op;
  const char* symbol;
  const char* same_shape;  // for equal shapes and for symbols
  const char* broadcast;
  const char* right_scalar;  // tensor op number
  const char* left_scalar;   // number op tensor
  const char* same_shape_hint;
  const char* right_hint;
  const char* left_hint;
};
const ArithmeticNames& names_of(Arithmetic op);

/// The definitions of these operators; null where MXNet has none.
struct ArithmeticForms {
  const ir::OpDef* same_shape = nullptr;
  const ir::OpDef* broadcast = nullptr;
  const ir::OpDef* right_scalar = nullptr;
  const ir::OpDef* left_scalar = nullptr;
};
const ArithmeticForms& forms_of(Arithmetic op);

/// The broadcasting form (broadcast_add) of an elemwise operator (elemwise_add); else `op_name`.
std::string_view broadcasting_form(std::string_view op_name);

/// The two-tensor form of an operator that takes a tensor and a number: the number becomes an array of shape
/// (1,). Both forms round alike for float32 and float64.
struct TensorForm {
  const ir::OpDef* op = nullptr;  // null: none
  bool number_left = false;
};
TensorForm tensor_form(const ir::OpDef& scalar_op);

}  // namespace kiln
