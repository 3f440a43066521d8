// begin:end:step of Python's slices, MXNet's operators and x[...].
#pragma once
#include "ir/attrs.h"

#include <cstdint>
#include <optional>

/// begin:end:step of Python's slices, MXNet's operators and x[...].
namespace kiln::ops {

/// A resolved slice of one axis: `count` elements from `start` in steps of `step`, ending before `end`. Both
/// are clamped to the axis, or one element beyond it in the direction of `step`.
struct SliceRange {
  std::int64_t start, end, step, count;
};
/// Resolves as Python's slice.indices. `step` must not be 0.
SliceRange slice_range(std::int64_t extent, const std::optional<std::int64_t>& begin,
                       const std::optional<std::int64_t>& end, std::int64_t step);

/// The attributes begin, end and step of an operator: lists for the leading axes.
class SliceBounds {
 public:
  explicit SliceBounds(const ir::Attrs& a);
  /// Whether the lists have equal lengths of at most `rank`.
  bool fit(std::size_t rank) const;
  std::size_t axes() const { return begin.size(); }
  std::int64_t step_of(std::size_t axis) const;
  /// The range of one of axes(). Throws for step 0.
  SliceRange of(std::size_t axis, std::int64_t extent) const;

  const ir::OptionalInts &begin, &end, &step;
};

}  // namespace kiln::ops
