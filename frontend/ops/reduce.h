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
/// argmax or argmin along an axis, which is removed: int64, the least index of equal elements; the first NaN
/// wins.
Value arg_extreme(Primitives& p, Value x, int axis, Reduce op);

}  // namespace kiln::ops
