// Classic operators that join arrays.
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

void require_parts(Primitives& p, Args in, std::string_view what) {
  if (in.empty()) fail("{} needs an array", what);
  for (Value v : in) require_one_dtype(p, in[0], v, what);
}
Values concat(Primitives& p, Args in, const Attrs& a) {
  require_parts(p, in, "Concat");
  return {p.concatenate(in, axis_of(a.integer("dim"), p.shape(in[0]).rank()))};
}
Values stack(Primitives& p, Args in, const Attrs& a) {
  require_parts(p, in, "stack");
  const Shape from = p.shape(in[0]);
  int axis = axis_of(a.integer("axis"), from.rank() + 1);
  Shape to;
  for (int i = 0; i <= from.rank(); ++i) {
    if (i == axis) to.push_back(1);
    if (i < from.rank()) to.push_back(from[at(i)]);
  }
  Values parts;
  for (Value v : in) {
    if (!(p.shape(v) == from))
      fail("stack takes arrays of one shape, got {} and {}", from.str(), p.shape(v).str());
    parts.push_back(p.reshape(v, to));
  }
  return {p.concatenate(parts, axis)};
}

void concat_shape(ShapeFacts& f, const Attrs& a) { joined_shape(f, a.integer("dim")); }
void stack_shape(ShapeFacts& f, const Attrs& a) { stacked_shape(f, a.integer("axis")); }

}  // namespace

std::span<const OpDef> join_ops() {
  static const std::vector<std::string_view> one{"data"};
  static const std::vector<OpDef> rows{
      {.name = "Concat",
       .aliases = {"concat"},
       .summary = "Concatenates arrays along an axis.",
       .inputs = one,
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("num_args", AttrKind::integer), int_attr("dim", 1)},
       .compose = concat,
       .shape_rule = concat_shape},
      {.name = "_rnn_param_concat",
       .aliases = {"_npi_rnn_param_concat"},
       .summary = "Concatenates the flattened parameters of RNN.",
       .inputs = one,
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("num_args", AttrKind::integer), int_attr("dim", 1)},
       .compose = concat,
       .shape_rule = concat_shape,
       .shows_parts = true},
      {.name = "stack",
       .summary = "Stacks arrays along a new axis.",
       .inputs = one,
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {int_attr("axis", 0), required("num_args", AttrKind::integer)},
       .compose = stack,
       .shape_rule = stack_shape},
  };
  return rows;
}

}  // namespace kiln::ops
