// Compositions that gradients of primitives and of operators have in common.
#include "ir/gradients.h"

#include "ir/at.h"
#include "ir/gradient_rules.h"

#include <algorithm>

namespace kiln::ir {

Value sum_to(Primitives& p, Value g, const TensorType& to, const Shape& dims) {
  Shape repeated;
  const Shape from = p.shape(g);
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto found = std::find(dims.begin(), dims.end(), axis);
    const bool is_new = found == dims.end();
    if (is_new ? from[at(axis)] != 1
               : to.shape[static_cast<std::size_t>(found - dims.begin())] != from[at(axis)])
      repeated.push_back(axis);
  }
  if (!repeated.empty()) {
    Wide w(p);
    g = p.cast(p.reduce(Reduce::sum, w.in(g), repeated), to.dtype);
  }
  return p.reshape(g, to.shape);
}

Value in_zeros(Primitives& p, Value g, const Shape& to, const Shape& start, const Shape& step) {
  const Shape extents = p.shape(g);
  if (std::any_of(step.begin(), step.end(), [](std::int64_t s) { return s != 1; }))
    return p.insert(p.full({p.dtype(g), to}, 0), g, start, step);
  Shape high = to;
  for (int i = 0; i < to.rank(); ++i) high[at(i)] -= start[at(i)] + extents[at(i)];
  return p.pad(g, 0, start, high);
}

Value clamped(Primitives& p, Value indices, std::int64_t extent) {
  const Value i = p.cast(indices, DType::i64);
  const Value last = p.like(i, static_cast<double>(std::max<std::int64_t>(extent, 1) - 1));
  return p.binary(Binary::min, p.binary(Binary::max, i, p.like(i, 0)), last);
}

Shape slice_limits(const Shape& start, const Shape& step, const Shape& extents) {
  Shape limit = start;
  for (int i = 0; i < start.rank(); ++i)
    limit[at(i)] += extents[at(i)] == 0 ? 0 : (extents[at(i)] - 1) * step[at(i)] + 1;
  return limit;
}

}  // namespace kiln::ir
