#pragma once
#include "frontend/ops/common.h"

/// Helpers of reductions.
namespace kiln::ops {

/// The number of elements per result.
std::int64_t count_along(const Shape& shape, const Shape& axes);
/// Mean and biased variance over axes, which are removed.
struct Statistics {
  Value mean, variance;
};
Statistics statistics(Primitives& p, Value x, const Shape& axes);
/// 2 (x - mean) head / count, the gradient of a variance over axes that is divided by `count`. Without the
/// sum over x - mean that the rules of the primitives would add, which is 0 but for rounding; the mean
/// depends on x.
Value variance_gradient(Primitives& p, Value x, const Shape& axes, Value head, std::int64_t count);
/// argmax or argmin along an axis, which is removed: int64, the least index of equal elements; the first NaN
/// wins.
Value arg_extreme(Primitives& p, Value x, int axis, Reduce op);

}  // namespace kiln::ops
