// numpy's formatting of the elements of an array.
#pragma once
#include <kiln/dtype.h>
#include <kiln/print_options.h>

#include <span>
#include <string>

namespace kiln {

/// numpy 1.23's formatting of one array's elements under its precision and suppress: one format, padded to
/// one width. Constructed from the shown elements, then applied to each.
class NumberFormat {
 public:
  /// `values` hold elements of the floating dtype `dtype` exactly.
  NumberFormat(std::span<const double> values, DType dtype, const PrintOptions& options);
  std::string operator()(double value) const;

 private:
  std::string positional(double value) const;
  std::string scientific(double value) const;

  DType dtype_;
  int precision_;
  bool exponent_ = false;
  int pad_left_ = 0;       // characters before the point
  int pad_right_ = 0;      // after the point
  int fraction_ = 0;       // digits after the point in exponent form
  int exponent_size_ = 2;  // digits of the exponent
};

}  // namespace kiln
