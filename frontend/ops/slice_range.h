#pragma once
#include "ir/attrs.h"

#include <cstdint>
#include <optional>

/// begin:end:step, as Python's slices, MXNet's operators and x[...] have it.
namespace kiln::ops {

/// The elements of an axis that a slice takes: `count` ones, from `start` in steps of `step`, which ends
/// before `end`. Both places are on the axis or next to it, on the side that the steps go to.
struct SliceRange {
  std::int64_t start, end, step, count;
};
/// Of an axis of `extent` elements, as Python's slice.indices. `step` is not 0.
SliceRange slice_range(std::int64_t extent, const std::optional<std::int64_t>& begin,
                       const std::optional<std::int64_t>& end, std::int64_t step);

/// The attributes begin, end and step of an operator: lists for the leading axes.
class SliceBounds {
 public:
  explicit SliceBounds(const ir::Attrs& a);
  /// Whether the lists have one length, of which an array of this rank has as many axes.
  bool fit(std::size_t rank) const;
  std::size_t axes() const { return begin.size(); }
  std::int64_t step_of(std::size_t axis) const;
  /// Of one of axes(). Throws for a step of 0.
  SliceRange of(std::size_t axis, std::int64_t extent) const;

  const ir::OptionalInts &begin, &end, &step;
};

}  // namespace kiln::ops
