// Shape rules that several operators share.
#pragma once
#include "frontend/ops/common.h"
#include "frontend/ops/reshape_codes.h"

/// Shared shape rules (OpDef::shape_rule), and building blocks of others.
namespace kiln::ops {

using ir::Axis;
using ir::PartialShape;
using ir::ShapeFacts;
inline constexpr std::int64_t unknown = PartialShape::unknown;

/// All inputs and all outputs have one shape.
void elementwise_shape(ShapeFacts& f, const Attrs&);
/// The first output has the first input's shape.
void first_shape(ShapeFacts& f, const Attrs&);
/// The first output has the broadcast shape of all inputs.
void broadcast_shape(ShapeFacts& f, const Attrs&);
/// As first_shape, and the other inputs are vectors along the attribute `axis`, by default axis 1.
void channels_shape(ShapeFacts& f, const Attrs& a);
/// Concatenation along `axis` (which may be negative).
void joined_shape(ShapeFacts& f, std::int64_t axis);
/// Stacking along a new `axis`.
void stacked_shape(ShapeFacts& f, std::int64_t axis);

/// x has one of these shapes, by default the first.
void one_of(ShapeFacts& f, PartialShape& x, const std::vector<Shape>& choices);

/// The normalised axis; nothing if it does not exist, which the composition reports.
std::optional<int> axis_in(std::int64_t axis, int rank);
/// Axis i of y is axis order[i] of x.
void permuted(ShapeFacts& f, PartialShape& x, PartialShape& y, const Shape& order);
/// y is x without one axis. x has rank 2 or more.
void without_axis(ShapeFacts& f, PartialShape& x, PartialShape& y, std::int64_t axis);
/// y is x reduced over `axes` (sorted, not negative), kept with extent 1 or removed. `at_least_1d`: y is (1,)
/// instead of rank 0.
void reduced(ShapeFacts& f, PartialShape& x, PartialShape& y, const Shape& axes, bool keep, bool at_least_1d);
/// The only input without the axes of its attribute `axis`, each of extent 1.
void squeezed_shape(ShapeFacts& f, const Attrs& a);
/// y is the number of windows of `extent` at `stride` in x padded by `pad` on both sides; `full` counts a
/// partial one too.
void window_shape(ShapeFacts& f, Axis x, Axis y, std::int64_t extent, std::int64_t stride, std::int64_t pad,
                  bool full);
/// The axes [first, last) of an array.
std::vector<Axis> axes_between(PartialShape& x, int first, int last);

/// y is x reshaped by the steps; `mirror`: from the last axis to the first.
void reshaped(ShapeFacts& f, PartialShape& x, PartialShape& y, std::span<const ReshapeStep> steps,
              bool mirror);

}  // namespace kiln::ops
