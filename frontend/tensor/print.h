// Elements as numpy prints them.
#pragma once
#include <kiln/print_options.h>
#include <kiln/tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// Separators, and the space reserved on the first and last line.
struct ArrayFrame {
  std::string_view separator = " ";
  int before = 0, after = 0;  ///< columns
};

/// numpy's str() of an array: nested brackets, lines and summaries as the options say. `element(i)` is the
/// text of element i in C order; all texts of one array have one width.
std::string format_array(const Shape& shape, const std::function<std::string(std::int64_t)>& element,
                         const ArrayFrame& frame, const PrintOptions& options);
/// Formats the elements of a nonempty array as numpy does, with the program's options.
std::string elements_text(const Tensor& t, const ArrayFrame& frame = {});

/// The C order indices of the elements shown by format_array.
std::vector<std::int64_t> shown_elements(const Shape& shape, const PrintOptions& options);

}  // namespace kiln
