// Arithmetic of windows.
#pragma once
#include "ir/at.h"
#include "ir/primitives.h"

/// Arithmetic of windows, along the spatial axes of arrays (N, C, spatial...).
namespace kiln::ir {

inline Shape ones(int rank) { return Shape::filled(rank, 1); }
inline Shape zeros(int rank) { return Shape::filled(rank, 0); }

/// The distance between the first and the last element that a window covers.
inline std::int64_t reach_of(const Window& w, int axis) {
  return times(w.dilate[at(axis)], w.kernel[at(axis)] - 1);
}

/// How far the windows of `places` reach beyond the end of spatial axis i of `data`; negative if they do not
/// reach it.
inline std::int64_t beyond_end(const Window& w, const Shape& data, const Shape& places, int i) {
  return w.stride[at(i)] * (places[at(i + 2)] - 1) + 1 + reach_of(w, i) - data[at(i + 2)] - w.pad_low[at(i)];
}

/// Calls f(index) with each index of an array of these extents in C order.
template <class F>
void for_each_index(const Shape& extents, F f) {
  Shape index = zeros(extents.rank());
  for (std::int64_t left = extents.elements(); left > 0; --left) {
    f(index);
    for (int i = extents.rank() - 1; i >= 0 && ++index[at(i)] == extents[at(i)]; --i) index[at(i)] = 0;
  }
}

/// x with stride - 1 zeros between its elements along the spatial axes.
Value spread(Primitives& p, Value x, const Shape& stride);

/// x with `low` and `high` elements more along the spatial axes, or fewer where these are negative.
Value resized(Primitives& p, Value x, double value, const Shape& low, const Shape& high);

}  // namespace kiln::ir
