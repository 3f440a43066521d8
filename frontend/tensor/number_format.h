#pragma once
#include <kiln/dtype.h>

#include <span>
#include <string>

namespace kiln {

/// How numpy 1.23 prints the elements of one array: all alike, padded to one width. Built from the elements
/// that will be shown, then applied to each of them.
class NumberFormat {
 public:
  /// `values` hold elements of the floating dtype `dtype` exactly.
  NumberFormat(std::span<const double> values, DType dtype);
  std::string operator()(double value) const;

 private:
  static constexpr int precision = 8;

  std::string positional(double value) const;
  std::string scientific(double value) const;

  DType dtype_;
  bool exponent_ = false;
  int pad_left_ = 0;       // characters before the point
  int pad_right_ = 0;      // and after it
  int fraction_ = 0;       // digits after the point in exponent form
  int exponent_size_ = 2;  // digits of the exponent
};

}  // namespace kiln
