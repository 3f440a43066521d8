// Resolves slices against extents.
#include "frontend/ops/slice_range.h"

#include "runtime/fail.h"

#include <algorithm>

namespace kiln::ops {
namespace {

const ir::OptionalInts& list(const ir::Attrs& a, std::string_view name) {
  const auto* ints = std::get_if<ir::OptionalInts>(a.find(name));
  if (!ints) fail_internal("slice has no list '{}'", name);
  return *ints;
}

}  // namespace

SliceRange slice_range(std::int64_t extent, const std::optional<std::int64_t>& begin,
                       const std::optional<std::int64_t>& end, std::int64_t step) {
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto place = [&](const std::optional<std::int64_t>& bound, std::int64_t missing) {
    if (!bound) return missing;
    return std::clamp(*bound < 0 ? *bound + extent : *bound, low, high);
  };
  const std::int64_t first = place(begin, step > 0 ? low : high), last = place(end, step > 0 ? high : low);
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::int64_t stride = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
  return {first, last, step, distance <= 0 ? 0 : (distance - 1) / stride + 1};
}

SliceBounds::SliceBounds(const ir::Attrs& a)
    : begin(list(a, "begin")), end(list(a, "end")), step(list(a, "step")) {}

bool SliceBounds::fit(std::size_t rank) const {
  return begin.size() <= rank && end.size() == begin.size() && (step.empty() || step.size() == begin.size());
}

std::int64_t SliceBounds::step_of(std::size_t axis) const {
  return axis < step.size() ? step[axis].value_or(1) : 1;
}

SliceRange SliceBounds::of(std::size_t axis, std::int64_t extent) const {
  if (step_of(axis) == 0) fail("slice needs steps that are not 0");
  return slice_range(extent, begin[axis], end[axis], step_of(axis));
}

}  // namespace kiln::ops
