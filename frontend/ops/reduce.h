#pragma once
#include "frontend/ops/common.h"

/// What reductions have in common.
namespace kiln::ops {

/// How many elements each result is made of.
std::int64_t count_along(const Shape& shape, const Shape& axes);
/// Mean and biased variance over axes, which are gone.
struct Statistics {
  Value mean, variance;
};
Statistics statistics(Primitives& p, Value x, const Shape& axes);
/// The first place of the extreme (max or min) along an axis, which is gone: the least index among those that
/// equal it, int64; of NaNs the first.
Value arg_extreme(Primitives& p, Value x, int axis, Reduce op);

}  // namespace kiln::ops
