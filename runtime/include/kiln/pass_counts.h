// Counts of passes.
#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

/// Counts of a pass: runs on one function each, and runs that changed the function.
struct PassCount {
  std::string pass;                     ///< the name in `kiln opt`: "kiln-fuse"
  std::uint64_t runs = 0, changes = 0;  ///< functions that it ran on, and functions that it changed
};

/// Turns counting on or off for later compilations of this process; initially off. It compares each function
/// before and after each pass, a few percent of compile time. Any thread.
KILN_API void count_passes(bool on = true);

/// The counts since the start of the process, in the order of the pipeline. A pass that occurs several times
/// in the pipeline is listed once. Any thread.
KILN_API std::vector<PassCount> pass_counts();

}  // namespace kiln
