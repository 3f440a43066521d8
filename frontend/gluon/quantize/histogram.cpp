// The distribution of the elements of an activation.
#include "frontend/gluon/quantize/histogram.h"

#include <algorithm>
#include <cmath>

namespace kiln::detail {

std::int64_t Histogram::bin_of(double x) const {
  return static_cast<std::int64_t>(std::floor(x / width_ + 0.5));
}

void Histogram::widen() {
  std::vector<std::int64_t> wider(counts_.size());
  for (std::int64_t k = -max_half; k <= max_half; ++k) {
    const std::int64_t to = k >= 0 ? (k + 1) / 3 : -((1 - k) / 3);
    wider[static_cast<std::size_t>(to + max_half)] += count(k);
  }
  counts_ = std::move(wider);
  width_ *= 3;
}

void Histogram::add(std::span<const float> elements) {
  if (elements.empty()) return;
  const auto [least, greatest] = std::minmax_element(elements.begin(), elements.end());
  min_ = std::min(min_, *least);
  max_ = std::max(max_, *greatest);
  const double magnitude = std::max<double>(max_, -min_);
  if (width_ == 0) width_ = magnitude / max_half;
  if (width_ > 0)
    while (magnitude / width_ >= max_half + 0.5) widen();
  for (const float x : elements) {
    if (x == 0)
      ++zeros_;
    else
      ++counts_[static_cast<std::size_t>(bin_of(x) + max_half)];
  }
}

std::int64_t Histogram::half() const { return width_ == 0 ? 0 : std::max(bin_of(max_), -bin_of(min_)); }

}  // namespace kiln::detail
