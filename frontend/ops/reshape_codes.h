#pragma once
#include <kiln/shape.h>

/// The shape that a reshape makes of `from` by `code`, for the operator and for the method of a tensor. Each
/// throws where the code does not fit.
namespace kiln::ops {

/// MXNet's Reshape: 0 keeps the extent here, -1 is what is left, -2 all extents left, -3 two merged, -4 one
/// split in the two that follow. The error does not name the operator.
Shape reshape_target(const Shape& from, const Shape& code);
/// numpy's: extents, of which one may be -1, for what is left.
Shape numpy_reshape_target(const Shape& from, const Shape& code);
/// npx.reshape: -1 is what is left, -2 keeps the extent here, -3 drops one of 1, -4 keeps all that are left,
/// -5 merges two, -6 splits one in the two that follow.
Shape npx_reshape_target(const Shape& from, const Shape& code);

}  // namespace kiln::ops
