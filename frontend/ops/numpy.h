#pragma once
#include "frontend/ops/common.h"

/// What the families of MXNet's numpy mode have in common.
namespace kiln::ops {

/// The row of a classic operator, for one that computes the same under another name.
OpDef renamed(std::span<const OpDef> family, std::string_view classic, std::string_view name,
              std::vector<std::string_view> inputs, std::vector<std::string_view> aliases = {});

/// The dtype in which two arrays meet: a float wins over an integer, else the wider; uint8 with int8 gives
/// int32, float16 with bfloat16 float32.
DType common_dtype(DType a, DType b);

/// The axes that `axis` names, sorted: None is all of them, () none. A scalar has the axes 0 and -1, which do
/// nothing.
Shape numpy_axes(const Attrs& a, int rank);

/// numpy's tensordot: sums over `a_axes` of a paired with `b_axes` of b. The result has the other axes of a,
/// then those of b.
Value contract(Primitives& p, Value a, const Shape& a_axes, Value b, const Shape& b_axes);

}  // namespace kiln::ops
