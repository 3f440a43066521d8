// How tensors print.
#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <source_location>

namespace kiln {

/// How operator<<, to_string() and numpy mode's array_str() and array_repr() print the elements of a Tensor:
/// numpy's options, with its names (edge_items, line_width: edgeitems, linewidth) and defaults, which are
/// MXNet's.
struct PrintOptions {
  int precision = 8;              ///< digits after the point at most; 0 or more
  std::int64_t threshold = 1000;  ///< an array with more elements is summarised
  std::int64_t edge_items = 3;    ///< elements shown at each end of a summarised axis; 1 or more
  int line_width = 75;            ///< columns; an element that is wider has a line of its own
  /// Fixed point also where elements are below 0.0001 or differ by more than a factor of 1000; elements that
  /// precision cannot show print as 0. Elements from 1e8 on always have exponents.
  bool suppress = false;
};
/// The program's options. Thread rule: both functions, and printing, may run on any thread.
KILN_API PrintOptions print_options();
/// Sets them for the whole program. Throws kiln::Error for a number out of its range.
KILN_API void set_print_options(const PrintOptions& options,
                                std::source_location where = std::source_location::current());

}  // namespace kiln
