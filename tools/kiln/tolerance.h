#pragma once
#include <kiln/io.h>

#include <span>
#include <string>
#include <vector>

namespace kiln::tool {

/// |got - expected| <= absolute + relative * |expected|; NaN equals NaN, infinities are equal or not.
struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-8;
};

/// Compares outputs with the arrays out:0, out:1, ... of a list, or in a list without names with those in the
/// same place, and prints a line for each. Returns whether
/// all shapes, dtypes and values fit. Throws kiln::Error when the list lacks one.
bool compare_outputs(const std::vector<Tensor>& outputs, std::span<const NamedArray> expected,
                     const std::string& file, Tolerance tolerance);

}  // namespace kiln::tool
