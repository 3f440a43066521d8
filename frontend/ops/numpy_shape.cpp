// numpy mode's operators on shapes.
#include "frontend/ops/numpy.h"
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

}  // namespace

std::span<const OpDef> numpy_shape_ops() {
  static const std::vector<std::string_view> one{"a"};
  static const AttrSpec order{"order", AttrKind::text, std::string("C")};
  static const std::vector<OpDef> rows{
      {.name = "_np_reshape",
       .summary = "Reshapes in C order; -1 is inferred.",
       .inputs = one,
       .attrs = {required("newshape", AttrKind::tuple), order},
       .compose = reshape,
       .shape_rule = reshape_shape},
      {.name = "_npx_reshape",
       .aliases = {"_npi_reshape"},
       .summary = "Reshapes in C order; -1 to -6 are codes.",
       .inputs = one,
       .attrs = {required("newshape", AttrKind::tuple), bool_attr("reverse", false), order},
       .compose = extended_reshape,
       .shape_rule = extended_reshape_shape},
      {.name = "_np_transpose",
       .summary = "Permutes the axes, by default reverses them.",
       .inputs = one,
       .attrs = {tuple_or_none("axes")},
       .compose = transpose,
       .shape_rule = transpose_shape},
      {.name = "_np_squeeze",
       .summary = "Removes axes of extent 1.",
       .inputs = one,
       .attrs = {tuple_or_none("axis")},
       .compose = squeeze,
       .shape_rule = squeezed_shape},
      {.name = "_np_moveaxis",
       .summary = "Moves axes to other positions; the others keep their order.",
       .inputs = one,
       .attrs = {required("source", AttrKind::tuple), required("destination", AttrKind::tuple)},
       .compose = moveaxis},
      {.name = "_npi_concatenate",
       .summary = "Concatenates arrays along an axis; without one, their elements.",
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("num_args", AttrKind::integer), {"axis", AttrKind::integer, std::int64_t{0}, true}},
       .compose = concatenate,
       .shape_rule = concatenate_shape},
      renamed(join_ops(), "stack", "_npi_stack", {"data"}),
      {.name = "_npi_broadcast_to",
       .summary = "Broadcasts to a shape.",
       .inputs = {"array"},
       .attrs = {tuple_attr("shape")},
       .compose = broadcast_to,
       .shape_rule = broadcast_to_shape},
  };
  return rows;
}

}  // namespace kiln::ops
