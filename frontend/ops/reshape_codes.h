// The codes of a reshape: new extents, and special numbers that refer to the old ones.
#pragma once
#include <kiln/shape.h>

#include <cstdint>
#include <optional>
#include <vector>

/// The codes of a reshape: new extents, and special numbers that refer to the old ones.
namespace kiln::ops {

// The shape of reshaping `from` by `code`. Throws if the code does not fit.

/// MXNet's Reshape: 0 copies this extent, -1 is inferred, -2 copies all remaining extents, -3 merges two, -4
/// splits one into the next two. The error does not name the operator.
Shape reshape_target(const Shape& from, const Shape& code);
/// numpy's: extents; one may be -1, which is inferred.
Shape numpy_reshape_target(const Shape& from, const Shape& code);
/// npx.reshape: -1 is inferred, -2 copies this extent, -3 drops an extent of 1, -4 copies all remaining
/// extents, -5 merges two, -6 splits one into the next two.
Shape npx_reshape_target(const Shape& from, const Shape& code);

/// One step over the axes of the old shape. Kinds: copy an extent, a given extent, the inferred extent, copy
/// all remaining, merge two, split one (into given or unknown extents), drop an extent of 1.
struct ReshapeStep {
  enum Kind { keep, fixed, hole, rest, merge, split, drop } kind;
  std::int64_t first = -1, second = -1;  ///< fixed: the extent; split: both; below 0 if unknown
};
using ReshapeSteps = std::vector<ReshapeStep>;

// The same codes as steps, for partial shapes. Nothing if a number is no code or its operands are missing.
std::optional<ReshapeSteps> reshape_steps(const Shape& code);
std::optional<ReshapeSteps> numpy_reshape_steps(const Shape& code);
std::optional<ReshapeSteps> npx_reshape_steps(const Shape& code);

}  // namespace kiln::ops
