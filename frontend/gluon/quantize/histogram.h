// The distribution of the elements of an activation, collected batch by batch.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kiln::detail {

/// The distribution of the elements of an activation. Bin k of a sign has the elements with a magnitude in
/// [k w, (k + 1) w); zeros are counted apart. The width w is the least power of two for which max_bins bins
/// hold all elements, so that more than half of them are in use. Thus it is the same for any order and any
/// division into batches.
class Histogram {
 public:
  static constexpr std::int64_t max_bins = 4096;  ///< of one sign

  /// Adds the elements, all finite.
  void add(std::span<const float> elements);

  float min() const { return min_; }  ///< at most 0
  float max() const { return max_; }  ///< at least 0
  double magnitude() const;           ///< the greatest one
  std::int64_t zeros() const { return zeros_; }
  /// The number of bins in use, of the sign with more of them.
  std::int64_t bins() const;
  double width() const { return width_; }
  /// The elements of bin k.
  /// @{
  std::int64_t positive(std::int64_t k) const { return positive_[static_cast<std::size_t>(k)]; }
  std::int64_t negative(std::int64_t k) const { return negative_[static_cast<std::size_t>(k)]; }
  /// @}

 private:
  void set_width();

  float min_ = 0, max_ = 0;
  std::int64_t zeros_ = 0;
  double width_ = 0;  // 0: no element but zeros
  std::vector<std::int64_t> positive_ = std::vector<std::int64_t>(max_bins),
                            negative_ = std::vector<std::int64_t>(max_bins);
};

}  // namespace kiln::detail
