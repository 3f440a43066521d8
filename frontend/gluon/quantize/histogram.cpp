// The distribution of the elements of an activation.
#include "frontend/gluon/quantize/histogram.h"

#include <algorithm>
#include <cmath>

namespace kiln::detail {
namespace {

/// The bins of twice the width.
std::vector<std::int64_t> paired(const std::vector<std::int64_t>& bins) {
  std::vector<std::int64_t> wider(bins.size());
  for (std::size_t i = 0; i < bins.size(); ++i) wider[i / 2] += bins[i];
  return wider;
}

}  // namespace

double Histogram::magnitude() const { return std::max<double>(max_, -static_cast<double>(min_)); }

void Histogram::set_width() {
  int exponent = 0;
  std::frexp(magnitude(), &exponent);  // magnitude in [2^(exponent - 1), 2^exponent)
  const double width = std::ldexp(1.0 / max_bins, exponent);
  if (width_ == 0) width_ = width;
  for (; width_ < width; width_ *= 2) {
    positive_ = paired(positive_);
    negative_ = paired(negative_);
  }
}

void Histogram::add(std::span<const float> elements) {
  if (elements.empty()) return;
  const auto [least, greatest] = std::minmax_element(elements.begin(), elements.end());
  min_ = std::min(min_, *least);
  max_ = std::max(max_, *greatest);
  if (magnitude() > 0) set_width();
  const double inverse = width_ == 0 ? 0 : 1 / width_;  // of a power of two: exact
  for (const float x : elements) {
    if (x == 0) {
      ++zeros_;
      continue;
    }
    const auto bin = static_cast<std::size_t>(std::abs(static_cast<double>(x)) * inverse);
    ++(x > 0 ? positive_ : negative_)[bin];
  }
}

std::int64_t Histogram::bins() const {
  return width_ == 0 ? 0 : static_cast<std::int64_t>(magnitude() / width_) + 1;
}

}  // namespace kiln::detail
