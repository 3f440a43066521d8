#pragma once
#include <kiln/tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// What stands between elements, and around the array in its first and last line.
struct ArrayFrame {
  std::string_view separator = " ";
  int before = 0, after = 0;  ///< columns
};

/// numpy's str() of an array: nested brackets, lines of at most 75 columns, more than 1000 elements abridged
/// to three at each end of an axis. `element(i)` is the text of element i in C order; all texts of one array
/// have one width.
std::string format_array(const Shape& shape, const std::function<std::string(std::int64_t)>& element,
                         const ArrayFrame& frame = {});
/// The elements of an array with one or more, as numpy formats them.
std::string elements_text(const Tensor& t, const ArrayFrame& frame = {});

/// The C order numbers of the elements that format_array will show.
std::vector<std::int64_t> shown_elements(const Shape& shape);

}  // namespace kiln
