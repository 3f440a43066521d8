// Compositions that gradients share.
#pragma once
#include "ir/primitives.h"

/// Compositions that gradients of primitives (ir/primitives) and of operators have in common.
namespace kiln::ir {

/// The sum of g over the axes that `broadcast` repeated: the gradient of an operand of type `to` that was
/// broadcast with `dims`.
Value sum_to(Primitives& p, Value g, const TensorType& to, const Shape& dims);
/// An array of `to` elements with g in the slice start, start + step, ..., zeros elsewhere.
Value in_zeros(Primitives& p, Value g, const Shape& to, const Shape& start, const Shape& step);
/// `indices` as int64, clamped to [0, extent).
Value clamped(Primitives& p, Value indices, std::int64_t extent);
/// The limits of a slice with these starts, steps and extents.
Shape slice_limits(const Shape& start, const Shape& step, const Shape& extents);

}  // namespace kiln::ir
