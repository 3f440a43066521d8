// The reference of an operator, as fields of text.
#pragma once
#include <string_view>

namespace kiln::ir {

/// The reference of an operator, field by field. `kiln ops NAME`, docs/operators.md and the comments of the
/// public spellings are written from it. A field is one sentence or a few, in plain text without line ends;
/// `g` is the gradient of the result, `x` the first input.
struct OpReference {
  /// Inputs and results by letters: "x (N, C, H, W), weight (O, C/g, kH, kW) -> (N, O, H', W')", then what
  /// the new letters are. "(...)" is any shape; the same letter is the same extent.
  std::string_view shapes = {};
  std::string_view dtypes = {};        ///< the dtypes of inputs, and the result's
  std::string_view broadcasting = {};  ///< how inputs of other shapes are aligned; empty: they are not
  std::string_view nan = {};           ///< the result of a NaN among the elements
  std::string_view ties = {};          ///< which of equal elements, or of halves, is taken; empty: none exist
  std::string_view empty = {};         ///< the result of arrays and axes without elements
  std::string_view integers = {};      ///< the result of integer inputs, and its computation
  std::string_view gradient = {};      ///< the gradient by input, as a formula in g
  std::string_view formula = {};       ///< the result, as a formula
  std::string_view source = {};        ///< where the semantics are from, and where Kiln differs
};

/// `own`, and the fields of `family` where `own` has none.
constexpr OpReference operator|(OpReference family, const OpReference& own) {
  constexpr std::string_view OpReference::*fields[] = {
      &OpReference::shapes,  &OpReference::dtypes, &OpReference::broadcasting, &OpReference::nan,
      &OpReference::ties,    &OpReference::empty,  &OpReference::integers,     &OpReference::gradient,
      &OpReference::formula, &OpReference::source};
  for (auto field : fields)
    if (!(own.*field).empty()) family.*field = own.*field;
  return family;
}

}  // namespace kiln::ir
