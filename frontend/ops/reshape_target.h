#pragma once
#include <kiln/shape.h>

namespace kiln::ops {

/// The shape that MXNet's Reshape, and a tensor's method reshape, makes of `from` by `code`: 0 keeps the
/// extent here, -1 is what is left, -2 all extents left, -3 two merged, -4 one split in the two that follow.
/// Throws, without naming an operator, where the codes do not fit.
Shape reshape_target(const Shape& from, const Shape& code);

}  // namespace kiln::ops
