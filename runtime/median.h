// The median of times.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace kiln {

/// The median of one value or more, the upper one of two; `values` are reordered.
inline double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace kiln
