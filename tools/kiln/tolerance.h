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

/// Compares outputs with the arrays out:0, out:1, ... of a list, or of an unnamed list by position, and
/// prints a line for each. Returns whether all shapes, dtypes and values match. Throws kiln::Error if an
/// array is missing.
bool compare_outputs(const std::vector<Tensor>& outputs, std::span<const NamedArray> expected,
                     const std::string& file, Tolerance tolerance);

}  // namespace kiln::tool
