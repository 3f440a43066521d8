// What a write through a view becomes in a graph: a new array with a slice replaced. MXNet has the same
// internal operators.
#include "frontend/ops/shape_rules.h"
#include "ir/op_def.h"
#include "runtime/fail.h"

#include <algorithm>
#include <span>

namespace kiln::ops {
namespace {

using namespace ir;

struct Range {
  Shape start, step, count;
};

// begin:end:step on the first axes of `shape`; steps are positive.
Range range(const Shape& shape, const Attrs& a) {
  const auto list = [&](std::string_view name) -> OptionalInts {
    const AttrValue* value = a.find(name);
    if (const auto* ints = std::get_if<OptionalInts>(value)) return *ints;
    OptionalInts out;
    if (const auto* tuple = std::get_if<Shape>(value)) out.assign(tuple->begin(), tuple->end());
    return out;
  };
  const OptionalInts begin = list("begin"), end = list("end"), step = list("step");
  if (begin.size() > shape.size() || end.size() != begin.size() ||
      (!step.empty() && step.size() != begin.size()))
    fail("a slice of {} axes, {} ends and {} steps does not fit the shape {}", begin.size(), end.size(),
         step.size(), shape.str());
  Range out;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    const auto bound = [&](const OptionalInts& from, std::int64_t missing) {
      if (axis >= from.size() || !from[axis]) return missing;
      const std::int64_t v = *from[axis] < 0 ? *from[axis] + extent : *from[axis];
      return std::min(std::max<std::int64_t>(v, 0), extent);
    };
    const std::int64_t stride = axis < step.size() && step[axis] ? *step[axis] : 1;
    if (stride <= 0) fail("the slice to write has step {} on axis {}: it must be positive", stride, axis);
    const std::int64_t first = bound(begin, 0);
    const std::int64_t last = bound(end, extent);
    if (last <= first) fail("the slice to write is empty on axis {} of shape {}", axis, shape.str());
    out.start.push_back(first);
    out.step.push_back(stride);
    out.count.push_back((last - first - 1) / stride + 1);
  }
  return out;
}

std::vector<Value> slice_assign(Primitives& p, Args in, const Attrs& a) {
  const Range r = range(p.shape(in[0]), a);
  if (p.shape(in[1]) != r.count)
    fail("a value of shape {} does not fill the slice of shape {}", p.shape(in[1]).str(), r.count.str());
  return {p.insert(in[0], in[1], r.start, r.step)};
}

std::vector<Value> slice_assign_scalar(Primitives& p, Args in, const Attrs& a) {
  const Range r = range(p.shape(in[0]), a);
  return {p.insert(in[0], p.full({p.dtype(in[0]), r.count}, a.real("scalar")), r.start, r.step)};
}

const OpDef rows[] = {
    {.name = "_slice_assign",
     .aliases = {"_crop_assign"},
     .summary = "lhs with the slice begin:end:step replaced by rhs.",
     .inputs = {"lhs", "rhs"},
     .attrs = {{"begin", AttrKind::optional_ints, std::nullopt},
               {"end", AttrKind::optional_ints, std::nullopt},
               {"step", AttrKind::optional_ints, OptionalInts{}}},
     .compose = slice_assign,
     .shape_rule = first_shape},
    {.name = "_slice_assign_scalar",
     .aliases = {"_crop_assign_scalar"},
     .summary = "data with the slice begin:end:step replaced by a number.",
     .inputs = {"data"},
     .attrs = {{"scalar", AttrKind::real, 0.0},
               {"begin", AttrKind::optional_ints, std::nullopt},
               {"end", AttrKind::optional_ints, std::nullopt},
               {"step", AttrKind::optional_ints, OptionalInts{}}},
     .compose = slice_assign_scalar,
     .shape_rule = first_shape},
};

}  // namespace

std::span<const ir::OpDef> view_ops() { return rows; }

}  // namespace kiln::ops
