#pragma once
#include <kiln/shape.h>

#include <functional>
#include <string>
#include <vector>

namespace kiln {

/// numpy's str() of an array: nested brackets, lines of at most 75 columns, more than 1000 elements abridged
/// to three at each end of an axis. `element(i)` is the text of element i in C order; all texts of one array
/// have one width.
std::string format_array(const Shape& shape, const std::function<std::string(std::int64_t)>& element);

/// The C order numbers of the elements that format_array will show.
std::vector<std::int64_t> shown_elements(const Shape& shape);

}  // namespace kiln
