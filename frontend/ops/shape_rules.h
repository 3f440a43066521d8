#pragma once
#include "frontend/ops/common.h"
#include "frontend/ops/reshape_codes.h"

/// Shape rules (OpDef::shape_rule) that many rows have, and what the others are made of.
namespace kiln::ops {

using ir::Axis;
using ir::PartialShape;
using ir::ShapeFacts;
inline constexpr std::int64_t unknown = PartialShape::unknown;

/// All inputs and all outputs have one shape.
void elementwise_shape(ShapeFacts& f, const Attrs&);
/// The first output has the first input's shape; nothing is said of the others.
void first_shape(ShapeFacts& f, const Attrs&);
/// The first output has numpy's common shape of all inputs.
void broadcast_shape(ShapeFacts& f, const Attrs&);
/// As first_shape, and the other inputs are vectors along the attribute `axis`, or axis 1 where there is
/// none.
void channels_shape(ShapeFacts& f, const Attrs& a);
/// The inputs one after the other along `axis` (an index of either sign).
void joined_shape(ShapeFacts& f, std::int64_t axis);
/// The inputs along a new `axis`.
void stacked_shape(ShapeFacts& f, std::int64_t axis);

/// Which axis of an array of `rank` axes is meant; nothing for one that does not exist, of which the
/// operator itself complains.
std::optional<int> axis_in(std::int64_t axis, int rank);
/// Axis i of y is axis order[i] of x.
void permuted(ShapeFacts& f, PartialShape& x, PartialShape& y, const Shape& order);
/// y is x without one axis. x has more than that axis.
void without_axis(ShapeFacts& f, PartialShape& x, PartialShape& y, std::int64_t axis);
/// y is x reduced over `axes` (sorted, not negative), which stay with extent 1 or are gone. `at_least_1d`:
/// where none is left, y has one of extent 1.
void reduced(ShapeFacts& f, PartialShape& x, PartialShape& y, const Shape& axes, bool keep, bool at_least_1d);
/// The row's only input without the axes that its attribute `axis` names, each of extent 1.
void squeezed_shape(ShapeFacts& f, const Attrs& a);
/// y is how many windows of `extent` fit into x and `pad` on both sides, each `stride` further; with `full`,
/// also one that sticks out.
void window_shape(ShapeFacts& f, Axis x, Axis y, std::int64_t extent, std::int64_t stride, std::int64_t pad,
                  bool full);
/// Some axes of an array, from `first` on and below `last`.
std::vector<Axis> axes_between(PartialShape& x, int first, int last);

/// y is x under the shape of the steps; `mirror`: the axes of both are taken from the back.
void reshaped(ShapeFacts& f, PartialShape& x, PartialShape& y, std::span<const ReshapeStep> steps,
              bool mirror);

}  // namespace kiln::ops
