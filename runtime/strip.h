#pragma once
#include "runtime/executable.h"

namespace kiln {

/// Kernels that run a few rows at a time, one after the other, then the next rows: row i of each reads row i
/// of those before it only.
struct StripPlan {
  /// Loop indices of a row: row i is [i * per_row, (i + 1) * per_row) of its outermost loop.
  struct Part {
    std::shared_ptr<const Kernel> kernel;
    std::vector<std::int64_t> params;
    std::size_t operands;  ///< how many of the step's are its own; they stand one part after the other
    std::int64_t per_row;
  };
  std::vector<Part> parts;
  std::int64_t rows = 0;
  std::int64_t block = 1;  ///< rows at a time; also the smallest piece for a thread
};
std::shared_ptr<const Control> make_strip(StripPlan plan);

}  // namespace kiln
