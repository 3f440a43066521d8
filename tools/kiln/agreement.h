// The distance of arrays from other ones, as of a network in int8 from the float one.
#pragma once
#include <kiln/tensor.h>

#include <cstdint>
#include <string>

namespace kiln::tool {

/// The distance of arrays from expected ones, collected over several calls.
class Agreement {
 public:
  /// Throws for arrays of different shapes. NaN differs from numbers by infinity, and from NaN by 0.
  void add(const Tensor& got, const Tensor& expected);

  double largest() const { return largest_; }
  double mean() const { return elements_ == 0 ? 0 : sum_ / static_cast<double>(elements_); }
  /// "largest error 0.01, mean 0.002 of magnitudes up to 4.2; the same class in 99 of 100 rows (99.0 %)". The
  /// class of a row is the place of its greatest element along the last axis; arrays of one axis have none.
  std::string str() const;

 private:
  double largest_ = 0, sum_ = 0, magnitude_ = 0;
  std::int64_t elements_ = 0, rows_ = 0, same_class_ = 0;
};

}  // namespace kiln::tool
