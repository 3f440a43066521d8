// numpy mode's operators on shapes.
#include "frontend/ops/numpy.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/reshape_codes.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>

namespace kiln::ops {
namespace {

void require_c_order(const Attrs& a) {
  if (a.word("order") != "C") fail("reshape supports the order C, not '{}'", a.word("order"));
}

Values reshape(Primitives& p, Args in, const Attrs& a) {
  require_c_order(a);
  return {p.reshape(in[0], numpy_reshape_target(p.shape(in[0]), a.tuple("newshape")))};
}

void reshape_shape(ShapeFacts& f, const Attrs& a) {
  if (const auto steps = numpy_reshape_steps(a.tuple("newshape")))
    reshaped(f, f.in[0], f.out[0], *steps, /*mirror=*/false);
}

Values extended_reshape(Primitives& p, Args in, const Attrs& a) {
  require_c_order(a);
  Shape from = p.shape(in[0]), code = a.tuple("newshape");
  const bool backwards = a.boolean("reverse");
  if (backwards) {
    std::reverse(from.begin(), from.end());
    std::reverse(code.begin(), code.end());
  }
  Shape to = npx_reshape_target(from, code);
  if (backwards) std::reverse(to.begin(), to.end());
  return {p.reshape(in[0], to)};
}

void extended_reshape_shape(ShapeFacts& f, const Attrs& a) {
  Shape code = a.tuple("newshape");
  if (a.boolean("reverse")) std::reverse(code.begin(), code.end());
  if (const auto steps = npx_reshape_steps(code))
    reshaped(f, f.in[0], f.out[0], *steps, a.boolean("reverse"));
}

void transpose_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  if (!a.is_none("axes")) return permuted(f, f.in[0], f.out[0], a.tuple("axes"));
  Shape order;
  for (int i = f.in[0].extents.rank(); i-- > 0;) order.push_back(i);
  if (f.in[0].ranked) permuted(f, f.in[0], f.out[0], order);
}
Values transpose(Primitives& p, Args in, const Attrs& a) {
  const int rank = p.shape(in[0]).rank();
  Shape order;
  for (int i = 0; i < rank; ++i)
    order.push_back(a.is_none("axes") || i >= a.tuple("axes").rank() ? rank - 1 - i
                                                                     : axis_of(a.tuple("axes")[at(i)], rank));
  if (!a.is_none("axes") && a.tuple("axes").rank() != rank)
    fail("transpose of {} needs {} axes, got {}", p.shape(in[0]).str(), rank, a.tuple("axes").str());
  axes_of(order, rank);  // each axis once
  return {p.transpose(in[0], order)};
}

Values squeeze(Primitives& p, Args in, const Attrs& a) {
  const Shape from = p.shape(in[0]);
  const Shape axes = a.is_none("axis") ? Shape{} : numpy_axes(a, from.rank());
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && from[at(i)] != 1) fail("squeeze: axis {} of {} has not one element", i, from.str());
    if (!(a.is_none("axis") ? from[at(i)] == 1 : named)) to.push_back(from[at(i)]);
  }
  return {p.reshape(in[0], to)};
}

Values moveaxis(Primitives& p, Args in, const Attrs& a) {
  const int rank = p.shape(in[0]).rank();
  const Shape &source = a.tuple("source"), &destination = a.tuple("destination");
  if (source.size() != destination.size())
    fail("moveaxis: {} names other axes than {}", source.str(), destination.str());
  axes_of(source, rank);  // each once
  axes_of(destination, rank);
  Shape order = Shape::filled(rank, -1), from;
  for (std::int64_t axis : source) from.push_back(axis_of(axis, rank));
  for (std::size_t i = 0; i < from.size(); ++i) order[at(axis_of(destination[i], rank))] = from[i];
  int next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  return {p.transpose(in[0], order)};
}

Values concatenate(Primitives& p, Args in, const Attrs& a) {
  if (in.empty()) fail("concatenate needs an array");
  Values parts(in.begin(), in.end());
  if (a.is_none("axis"))
    for (Value& v : parts) v = p.reshape(v, {p.shape(v).elements()});
  const int rank = p.shape(parts[0]).rank();
  if (rank == 0) fail("scalars cannot be concatenated; stack them");
  return {p.concatenate(parts, a.is_none("axis") ? 0 : axis_of(a.integer("axis"), rank))};
}

void concatenate_shape(ShapeFacts& f, const Attrs& a) {
  if (!a.is_none("axis")) joined_shape(f, a.integer("axis"));
}

/// In the shape, -2 keeps the extent.
Values broadcast_to(Primitives& p, Args in, const Attrs& a) {
  const Shape from = p.shape(in[0]);
  Shape to = a.tuple("shape");
  for (int i = 0; i < to.rank(); ++i)
    if (const int source = i - (to.rank() - from.rank()); to[at(i)] == -2 && source >= 0)
      to[at(i)] = from[at(source)];
  return {p.broadcast_to(in[0], to)};
}
void broadcast_to_shape(ShapeFacts& f, const Attrs& a) {
  const Shape& to = a.tuple("shape");
  f.rank(f.out[0], to.rank());
  for (int i = 0; i < to.rank(); ++i) {
    const int behind = i - to.rank();
    f.is(Axis{f.out[0], i}, to[at(i)]);
    if (to[at(i)] == -2 && f.in[0].extents.rank() >= -behind)
      f.same(Axis{f.in[0], behind}, Axis{f.out[0], i});
  }
}

/// Layout operators, whose input is called a.
constexpr OpReference array_layout_reference =
    layout_reference | OpReference{.dtypes = "Any; the result has the dtype of a.",
                                   .source = "MXNet 1.9.1 (src/operator/numpy/np_matrix_op.cc)."};
constexpr OpReference array_reshape_reference =
    array_layout_reference |
    OpReference{.gradient = "a: g with the shape of a.",
                .formula = "Element i of the result is element i of a, both counted in C order."};

}  // namespace

std::span<const OpDef> numpy_shape_ops() {
  static const std::vector<std::string_view> one{"a"};
  static const AttrSpec order = meaning({"order", AttrKind::text, std::string("C")},
                                        "In symbol files: the order of the elements. C; another one throws.");
  static const std::vector<OpDef> rows{
      {.name = "_np_reshape",
       .summary = "Gives the elements another shape, in C order; -1 in the shape is inferred.",
       .reference = array_reshape_reference |
                    OpReference{.shapes = "a (...) -> newshape, as many elements",
                                .empty = "A 0 in newshape is an extent; -1 beside it throws."},
       .inputs = one,
       .attrs = {required("newshape", AttrKind::tuple, "The extents; one may be -1, which is inferred."),
                 order},
       .compose = reshape,
       .shape_rule = reshape_shape},
      {.name = "_npx_reshape",
       .aliases = {"_npi_reshape"},
       .summary = "Gives the elements another shape, in C order; -1 to -6 in the shape are codes.",
       .reference = array_reshape_reference |
                    OpReference{.shapes = "a (...) -> (newshape, its codes resolved), as many elements",
                                .empty = "A 0 in newshape is an extent; -1 beside an extent of 0 throws."},
       .inputs = one,
       .attrs =
           {required(
                "newshape", AttrKind::tuple,
                "The extents of the result; each steps to the next axis of a. Code -1 is inferred, once; "
                "-2 is the extent of a. Code -3 drops an extent of 1; -4 stands for all extents that are "
                "left, -5 for the product of two. Codes -6, b, c split an extent into b and c; one of them "
                "may be -1."),
            bool_attr("reverse", false,
                      "Whether a and newshape are read from their ends; -6 then follows its two extents."),
            order},
       .compose = extended_reshape,
       .shape_rule = extended_reshape_shape},
      {.name = "_np_transpose",
       .summary = "Permutes the axes, by default reverses their order.",
       .reference =
           array_layout_reference | OpReference{.shapes = "a (d0, ..., dn) -> (d[axes[0]], ..., d[axes[n]])",
                                                .gradient = "a: g transposed by the inverse permutation.",
                                                .formula = "Axis i of the result is axis axes[i] of a."},
       .inputs = one,
       .attrs = {tuple_or_none(
           "axes",
           "The permutation: each axis of a once; negative: from the end. None: the axes in reverse order.")},
       .compose = transpose,
       .shape_rule = transpose_shape},
      {.name = "_np_squeeze",
       .summary = "Removes axes of extent 1.",
       .reference = array_reshape_reference |
                    OpReference{.shapes = "a (...) -> (...) without the removed axes, () if none is left"},
       .inputs = one,
       .attrs = {tuple_or_none("axis",
                               "The axes to remove; negative: from the end. None: all of extent 1. An axis "
                               "of another extent throws.")},
       .compose = squeeze,
       .shape_rule = squeezed_shape},
      {.name = "_np_moveaxis",
       .summary = "Moves axes to other positions; the others keep their order.",
       .reference = array_layout_reference |
                    OpReference{.shapes = "a (...) -> (...), the extents moved with their axes",
                                .gradient = "a: g with the axes moved back.",
                                .formula = "Axis destination[i] of the result is axis source[i] of a; the "
                                           "other axes fill the other positions in order."},
       .inputs = one,
       .attrs = {required("source", AttrKind::tuple, "The axes to move, each once; negative: from the end."),
                 required("destination", AttrKind::tuple,
                          "The position of each axis of source in the result; negative: from the end.")},
       .compose = moveaxis},
      {.name = "_npi_concatenate",
       .summary = "Concatenates arrays along an axis, or their elements in C order as one vector.",
       .reference =
           array_layout_reference |
           OpReference{.shapes = "n arrays (p..., Di, q...), Di along axis -> (p..., D1 + ... + Dn, q...); "
                                 "with axis None any shapes -> (N), N the number of all elements",
                       .dtypes = "Any, one for all inputs; the result has it.",
                       .broadcasting = "None: all other extents are equal.",
                       .empty = "An input without elements along the axis adds none.",
                       .gradient = "Each input: its part of g.",
                       .formula = "y = the inputs, one after the other along the axis."},
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("num_args", AttrKind::integer, "The number of inputs, 1 or more."),
                 meaning(
                     {"axis", AttrKind::integer, std::int64_t{0}, true},
                     "The joined axis; negative: from the end. None: each input as a vector in C order.")},
       .compose = concatenate,
       .shape_rule = concatenate_shape},
      renamed(join_ops(), "stack", "_npi_stack", {"data"}),
      {.name = "_npi_broadcast_to",
       .summary = "Repeats an array along new axes and axes of extent 1 to a shape.",
       .reference =
           array_layout_reference |
           OpReference{
               .shapes = "array (...) -> shape",
               .dtypes = "Any; the result has the dtype of array.",
               .broadcasting =
                   "Axes are aligned from the right; an extent of 1 is repeated, another one stays.",
               .gradient = "array: the sum of g over the repeated axes, half precision in float32.",
               .formula = "y[..., i, ...] = array[..., i, ...], with 0 for i where array has extent 1; new "
                          "axes are first.",
               .source = "MXNet 1.9.1's _npi_broadcast_to; the cases of tests/golden/ops/np_broadcast_to."},
       .inputs = {"array"},
       .attrs = {tuple_attr(
           "shape",
           "The extents of the result, as many as array has or more; -2 keeps the extent of array.")},
       .compose = broadcast_to,
       .shape_rule = broadcast_to_shape},
  };
  return rows;
}

}  // namespace kiln::ops
