// Classic operators that join arrays.
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

void require_parts(Primitives& p, Args in, std::string_view what) {
  if (in.empty()) fail("{} needs an array", what);
  require_one_dtype(p, in, what);
}
Values concat(Primitives& p, Args in, const Attrs& a) {
  require_parts(p, in, "Concat");
  return {p.concatenate(in, axis_of(a.integer("dim"), p.shape(in[0]).rank()))};
}
Values stack(Primitives& p, Args in, const Attrs& a) {
  require_parts(p, in, "stack");
  const Shape from = p.shape(in[0]);
  int axis = new_axis_of(a.integer("axis"), from.rank());
  Shape to;
  for (int i = 0; i <= from.rank(); ++i) {
    if (i == axis) to.push_back(1);
    if (i < from.rank()) to.push_back(from[at(i)]);
  }
  Values parts;
  for (Value v : in) {
    if (!(p.shape(v) == from))
      fail(Mistake::operand_shape, "stack takes arrays of one shape, got {} and {}", from.str(),
           p.shape(v).str());
    parts.push_back(p.reshape(v, to));
  }
  return {p.concatenate(parts, axis)};
}

void concat_shape(ShapeFacts& f, const Attrs& a) { joined_shape(f, a.integer("dim")); }
void stack_shape(ShapeFacts& f, const Attrs& a) { stacked_shape(f, a.integer("axis")); }

/// Concatenation along an axis that exists.
constexpr OpReference concat_reference =
    layout_reference | OpReference{.shapes =
                                       "n arrays (a..., Di, b...), Di along the joined axis -> (a..., D1 + "
                                       "... + Dn, b...). Rank 0 throws",
                                   .dtypes = "Any, one for all inputs; the result has it.",
                                   .broadcasting = "None: all other extents are equal.",
                                   .empty = "An input without elements along the axis adds none.",
                                   .gradient = "Each input: its part of g.",
                                   .formula = "y = the inputs, one after the other along the axis.",
                                   .source = "MXNet 1.9.1 (src/operator/nn/concat.cc)."};

AttrSpec count_of_inputs() {
  return required("num_args", AttrKind::integer, "The number of inputs, 1 or more.");
}

}  // namespace

std::span<const OpDef> join_ops() {
  static const std::vector<std::string_view> one{"data"};
  static const std::vector<OpDef> rows{
      {.name = "Concat",
       .aliases = {"concat"},
       .summary = "Concatenates arrays along an axis.",
       .reference = concat_reference,
       .inputs = one,
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {count_of_inputs(), int_attr("dim", 1, "The joined axis; negative: from the end.")},
       .compose = concat,
       .shape_rule = concat_shape},
      {.name = "_rnn_param_concat",
       .aliases = {"_npi_rnn_param_concat"},
       .summary = "Concatenates the flattened weights and biases of RNN; shape inference sees each of them.",
       .reference = concat_reference,
       .inputs = one,
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {count_of_inputs(),
                 int_attr("dim", 1, "The joined axis, 0 for vectors; negative: from the end.")},
       .compose = concat,
       .shape_rule = concat_shape,
       .shows_parts = true},
      {.name = "stack",
       .summary = "Stacks arrays of one shape along a new axis.",
       .reference =
           layout_reference | OpReference{.shapes = "n arrays (a..., b...) -> (a..., n, b...)",
                                          .dtypes = "Any, one for all inputs; the result has it.",
                                          .broadcasting = "None: all inputs have one shape.",
                                          .gradient = "Input i: g at position i of the new axis.",
                                          .formula = "y[..., i, ...] = input i.",
                                          .source = "MXNet 1.9.1 (src/operator/tensor/matrix_op.cc; "
                                                    "_npi_stack: src/operator/numpy/np_matrix_op.cc)."},
       .inputs = one,
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {int_attr("axis", 0, "The position of the new axis in the result; negative: from the end."),
                 count_of_inputs()},
       .compose = stack,
       .shape_rule = stack_shape},
  };
  return rows;
}

}  // namespace kiln::ops
