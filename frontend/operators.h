#pragma once
#include <kiln/tensor.h>

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
Tensor arithmetic(Arithmetic op, const Operand& a, const Operand& b);
Tensor arithmetic(Arithmetic op, const Operand& a, const Operand& b, std::source_location where);

}  // namespace kiln
