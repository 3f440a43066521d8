// The distribution of the elements of an activation, collected batch by batch.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kiln::detail {

/// The distribution of the elements of an activation, collected batch by batch. Bin k, from -half() to
/// half(), has the elements in [(k - 1/2) w, (k + 1/2) w) for the width w; zeros are counted apart. The first
/// element determines w. An element beyond the last bin makes w three times as large, and three bins become
/// one. Thus at least a third of the bins on one side are in use.
class Histogram {
 public:
  /// The number of bins on each side of bin 0.
  static constexpr std::int64_t max_half = 2048;

  /// Adds the elements, all finite.
  void add(std::span<const float> elements);

  float min() const { return min_; }  ///< at most 0
  float max() const { return max_; }  ///< at least 0
  std::int64_t zeros() const { return zeros_; }
  /// The bins that are in use, on the side with more of them.
  std::int64_t half() const;
  double width() const { return width_; }
  /// The elements of bin k that are not 0.
  std::int64_t count(std::int64_t k) const { return counts_[static_cast<std::size_t>(k + max_half)]; }

 private:
  std::int64_t bin_of(double x) const;
  void widen();

  float min_ = 0, max_ = 0;
  std::int64_t zeros_ = 0;
  double width_ = 0;
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(2 * max_half + 1);
};

}  // namespace kiln::detail
