#pragma once
#include <kiln/shape.h>

#include <cstdint>
#include <optional>
#include <vector>

/// The codes of a reshape: extents of the new shape, among which numbers that are no extents say what becomes
/// of the old ones.
namespace kiln::ops {

// The shape that a reshape makes of `from` by `code`. Each throws where the code does not fit.

/// MXNet's Reshape: 0 keeps the extent here, -1 is what is left, -2 all extents left, -3 two merged, -4 one
/// split in the two that follow. The error does not name the operator.
Shape reshape_target(const Shape& from, const Shape& code);
/// numpy's: extents, of which one may be -1, for what is left.
Shape numpy_reshape_target(const Shape& from, const Shape& code);
/// npx.reshape: -1 is what is left, -2 keeps the extent here, -3 drops one of 1, -4 keeps all that are left,
/// -5 merges two, -6 splits one in the two that follow.
Shape npx_reshape_target(const Shape& from, const Shape& code);

/// One step through the axes of the old shape: an extent kept, a given extent, the one that is left, all that
/// are left, two merged, one split in two (given or not known), an extent of 1 dropped.
struct ReshapeStep {
  enum Kind { keep, fixed, hole, rest, merge, split, drop } kind;
  std::int64_t first = -1, second = -1;  ///< fixed: the extent; split: both; below 0 where not known
};
using ReshapeSteps = std::vector<ReshapeStep>;

// The same codes as steps, for shapes that are not known. Nothing where a number is no code, or lacks the
// extents that follow it.
std::optional<ReshapeSteps> reshape_steps(const Shape& code);
std::optional<ReshapeSteps> numpy_reshape_steps(const Shape& code);
std::optional<ReshapeSteps> npx_reshape_steps(const Shape& code);

}  // namespace kiln::ops
