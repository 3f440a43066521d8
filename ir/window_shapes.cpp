// Dilation and signed padding of arrays of images.
#include "ir/window_shapes.h"

#include <algorithm>

namespace kiln::ir {

Value spread(Primitives& p, Value x, const Shape& stride) {
  const Shape from = p.shape(x);
  Shape to = from, step = ones(from.rank());
  for (int i = 0; i < stride.rank(); ++i) {
    step[at(i + 2)] = stride[at(i)];
    to[at(i + 2)] = times(stride[at(i)], from[at(i + 2)] - 1) + 1;
  }
  return to == from ? x : p.insert(p.full({p.dtype(x), to}, 0), x, zeros(from.rank()), step);
}

Value resized(Primitives& p, Value x, double value, const Shape& low, const Shape& high) {
  const int rank = p.shape(x).rank();
  Shape start = zeros(rank), limit = p.shape(x), before = start, after = start;
  for (int i = 0; i < low.rank(); ++i) {
    start[at(i + 2)] = std::max<std::int64_t>(-low[at(i)], 0);
    limit[at(i + 2)] += std::min<std::int64_t>(high[at(i)], 0);
    before[at(i + 2)] = std::max<std::int64_t>(low[at(i)], 0);
    after[at(i + 2)] = std::max<std::int64_t>(high[at(i)], 0);
  }
  x = p.slice(x, start, limit, ones(rank));
  const bool same = before == zeros(rank) && after == before;
  return same ? x : p.pad(x, value, before, after);
}

}  // namespace kiln::ir
