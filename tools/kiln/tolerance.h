// Comparison of arrays within a tolerance.
#pragma once
#include <kiln/io.h>

#include <span>
#include <string>
#include <vector>

namespace kiln::tool {

/// |got - expected| <= absolute + relative * |expected|; NaN equals NaN, and an infinity only itself.
struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-8;
};

/// Compares each array with the array of the same name in a list, or with an unnamed list by position, and
/// prints a line for each. Returns whether all shapes, dtypes and values match. Throws kiln::Error if an
/// output is missing in the list, or if all gradients (grad:NAME) are: MXNet's lists have gradients of some
/// arrays alone.
bool compare_arrays(std::span<const NamedArray> got, std::span<const NamedArray> expected,
                    const std::string& file, Tolerance tolerance);

}  // namespace kiln::tool
