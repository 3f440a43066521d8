// A write through a view as an operator: a new array with a slice replaced. MXNet has the same internal
// operators.
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"
#include "frontend/ops/slice_range.h"
#include "ir/op_def.h"
#include "runtime/messages.h"

#include <span>

namespace kiln::ops {
namespace {

using namespace ir;

/// A slice to write, resolved: for all axes, forwards.
struct Range {
  Shape start, step, count;
};
Range range(const Shape& shape, const Attrs& a) {
  const SliceBounds bounds(a);
  if (!bounds.fit(shape.size()))
    fail("a slice of {} axes, {} ends and {} steps does not fit the shape {}", bounds.begin.size(),
         bounds.end.size(), bounds.step.size(), shape.str());
  Range out;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    const bool bounded = axis < bounds.axes();
    if (bounded && bounds.step_of(axis) <= 0)
      fail("the slice to write has step {} on axis {}: it must be positive", bounds.step_of(axis), axis);
    const SliceRange r = bounded ? bounds.of(axis, extent) : SliceRange{0, extent, 1, extent};
    out.start.push_back(r.start);
    out.step.push_back(r.step);
    out.count.push_back(r.count);
  }
  return out;
}

std::vector<Value> slice_assign(Primitives& p, Args in, const Attrs& a) {
  const Range r = range(p.shape(in[0]), a);
  if (p.shape(in[1]) != r.count)
    fail(Mistake::operand_shape, "a value of shape {} does not fill the slice of shape {}",
         p.shape(in[1]).str(), r.count.str());
  return {r.count.elements() == 0 ? in[0] : p.insert(in[0], in[1], r.start, r.step)};
}

std::vector<Value> slice_assign_scalar(Primitives& p, Args in, const Attrs& a) {
  const Range r = range(p.shape(in[0]), a);
  if (r.count.elements() == 0) return {in[0]};
  return {p.insert(in[0], p.full({p.dtype(in[0]), r.count}, a.real("scalar")), r.start, r.step)};
}

const AttrSpec positive_step = meaning({"step", AttrKind::optional_ints, OptionalInts{}},
                                       "The distance of neighbours on each axis of begin; above 0, unlike "
                                       "that of slice. None: 1. (): 1 for all.");

const OpDef ops[] = {
    {.name = "_slice_assign",
     .aliases = {"_crop_assign"},
     .summary = "Returns lhs with the slice begin:end:step of its leading axes replaced by rhs.",
     .reference =
         slice_reference |
         OpReference{.shapes = "lhs (D1, ..., Dk, ...), rhs (L1, ..., Lk, ...) -> (D1, ..., Dk, ...); L are "
                               "the extents of the slice, as of the operator slice",
                     .dtypes = "Any, one for lhs and rhs; the result has it.",
                     .broadcasting = "None: rhs has the shape of the slice.",
                     .empty = "A slice without elements gives lhs.",
                     .gradient = "lhs: g, with zeros in the slice. rhs: g in the slice.",
                     .formula = "y[begin + i step] = rhs[i] on each leading axis; elsewhere y = lhs.",
                     .source = matrix_op_source},
     .inputs = {"lhs", "rhs"},
     .attrs = {required("begin", AttrKind::optional_ints, slice_begin),
               required("end", AttrKind::optional_ints, slice_end), positive_step},
     .compose = slice_assign,
     .shape_rule = first_shape},
    {.name = "_slice_assign_scalar",
     .aliases = {"_crop_assign_scalar"},
     .summary = "Returns data with the slice begin:end:step of its leading axes replaced by a number.",
     .reference =
         slice_reference |
         OpReference{
             .shapes = "data (...) -> (...)",
             .empty = "A slice without elements gives data.",
             .integers =
                 "Copied exactly; scalar is converted as by Cast: truncated towards zero, then wrapped.",
             .gradient = "data: g, with zeros in the slice.",
             .formula = "y[begin + i step] = scalar on each leading axis; elsewhere y = data.",
             .source = matrix_op_source},
     .inputs = {"data"},
     .attrs = {real_attr("scalar", 0, "The number, converted to the dtype of data."),
               required("begin", AttrKind::optional_ints, slice_begin),
               required("end", AttrKind::optional_ints, slice_end), positive_step},
     .compose = slice_assign_scalar,
     .shape_rule = first_shape},
};

}  // namespace

std::span<const ir::OpDef> view_ops() { return ops; }

}  // namespace kiln::ops
