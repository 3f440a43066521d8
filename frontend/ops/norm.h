// Helpers of the normalisations and of their gradients.
#pragma once
#include "frontend/ops/reduce.h"

namespace kiln::ops {

/// 1 / sqrt(variance + eps)
Value inverse_deviation(Primitives& p, Value variance, double eps);
/// The axis of BatchNorm's channels. SyncBatchNorm has no attribute axis.
std::int64_t channel_axis(const Attrs& a);
/// Whether BatchNorm normalises by the statistics of the batch.
bool takes_batch_statistics(Primitives& p, const Attrs& a);
/// BatchNorm's statistics of data x: of the batch, or the moving ones.
Statistics batch_statistics(Primitives& p, Args in, Value x, int axis, const Attrs& a);
/// x * scale + shift, rounded once to the dtype; scale and shift are vectors along `axis`.
Value scale_and_shift(Primitives& p, Value x, Value scale, Value shift, int axis);
/// 3 where the statistics are outputs too, else 1.
int visible_statistics(const Attrs& a);
/// GroupNorm's data as (samples, groups, elements). Throws unless the groups divide the channels.
Shape groups_of(const Shape& shape, const Attrs& a);
/// L2Normalization: the axes of one size, and the sizes, sqrt(sum(x^2) + eps).
Shape l2_axes(const Attrs& a, int rank);
Value l2_size(Primitives& p, Value x, const Shape& axes, const Attrs& a);

}  // namespace kiln::ops
