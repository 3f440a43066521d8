// Helpers of reductions.
#pragma once
#include "frontend/ops/common.h"

/// Helpers of reductions.
namespace kiln::ops {

/// The number of elements per result.
std::int64_t count_along(const Shape& shape, const Shape& axes);
/// sum / count.
Value divided(Primitives& p, Value sum, std::int64_t count);
/// Mean and biased variance over axes, which are removed. Both come from differences from an element, so that
/// equal elements have exactly that mean and no variance.
struct Statistics {
  Value mean, variance;
  /// mean = origin + offset, rounded: where the mean is large, x - origin is exact, and x - mean is not. The
  /// offset may be invalid: the mean is the origin.
  Value origin, offset;
};
/// The mean alone.
Value mean_over(Primitives& p, Value x, const Shape& axes);
/// In two passes over x. The mean of some infinities may be NaN unless they count, where the variance is NaN
/// in any case; this is faster.
Statistics statistics(Primitives& p, Value x, const Shape& axes, bool of_infinities = false);
/// In one pass over x, for arrays that no cache holds: from the sums of x - origin and of its square. The
/// variance cancels where the origin is far from the mean: its relative error is the relative error of the
/// sums times 1 + offset^2 / variance.
Statistics statistics_in_one_pass(Primitives& p, Value x, const Shape& axes);
/// 2 (x - mean) head / count, the gradient of a variance over axes that is divided by `count`. The rules of
/// the primitives would add a sum over x - mean, because the mean depends on x. That sum is 0 except for
/// rounding, and left out.
Value variance_gradient(Primitives& p, Value x, const Shape& axes, Value head, std::int64_t count);
/// argmax or argmin along an axis, which is removed, in a dtype: the least index of equal elements; the first
/// NaN wins.
Value arg_extreme(Primitives& p, Value x, int axis, Reduce op, DType dtype);

}  // namespace kiln::ops
