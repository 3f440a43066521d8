#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

/// How often a pass ran, on one function each time, and how often it changed the function.
struct PassCount {
  std::string pass;  ///< as `kiln opt` calls it: "kiln-fuse"
  std::uint64_t runs = 0, changes = 0;
};

/// Whether compilations of this process are counted from now on; at first they are not. Each pass then
/// compares a function before and after it, which takes some percent of the time of a compilation. Safe to
/// call from any thread.
KILN_API void count_passes(bool on = true);

/// Every pass that ran, in the order of the pipeline, with its counts since the process started. A pass that
/// stands in the pipeline several times is listed once. Safe to call from any thread.
KILN_API std::vector<PassCount> pass_counts();

}  // namespace kiln
