// Classic operators that repeat elements: broadcasting, tiling.
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>

namespace kiln::ops {
namespace {

Values broadcast_to(Primitives& p, Args in, const Attrs& a) {
  const Shape& from = p.shape(in[0]);
  Shape to = a.tuple("shape");
  if (to.rank() != from.rank())
    fail("an array of {} cannot be broadcast to {}: give it {} axes first (expand_dims, reshape)", from.str(),
         to.str(), to.rank());
  for (int i = 0; i < to.rank(); ++i)
    if (to[at(i)] == 0) to[at(i)] = from[at(i)];
  return {p.broadcast_to(in[0], to)};
}
void broadcast_to_shape(ShapeFacts& f, const Attrs& a) {
  const Shape& to = a.tuple("shape");
  f.rank(f.in[0], to.rank());
  f.rank(f.out[0], to.rank());
  for (int i = 0; i < to.rank(); ++i) {
    if (to[at(i)] != 0)
      f.is(Axis{f.out[0], i}, to[at(i)]);
    else
      f.same(Axis{f.in[0], i}, Axis{f.out[0], i});
  }
}
Values broadcast_axis(Primitives& p, Args in, const Attrs& a) {
  Shape to = p.shape(in[0]);
  const Shape &axes = a.tuple("axis"), &sizes = a.tuple("size");
  if (axes.size() != sizes.size())
    fail("broadcast_axis needs a size for each axis, got {} and {}", axes.str(), sizes.str());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& extent = to[at(axis_of(axes[i], to.rank()))];
    if (extent != 1)
      fail("broadcast_axis: axis {} of {} has more than one element", axes[i], p.shape(in[0]).str());
    extent = sizes[i];
  }
  return {p.broadcast_to(in[0], to)};
}
Values broadcast_like(Primitives& p, Args in, const Attrs& a) {
  Shape to = p.shape(in[1]);
  if (!a.is_none("lhs_axes") && !a.is_none("rhs_axes")) {
    const Shape &l = a.tuple("lhs_axes"), &r = a.tuple("rhs_axes");
    if (l.size() != r.size())
      fail("broadcast_like needs as many lhs_axes as rhs_axes, got {} and {}", l.str(), r.str());
    to = p.shape(in[0]);
    for (std::size_t i = 0; i < l.size(); ++i)
      to[at(axis_of(l[i], to.rank()))] = p.shape(in[1])[at(axis_of(r[i], p.shape(in[1]).rank()))];
  }
  if (to.rank() != p.shape(in[0]).rank())
    fail("an array of {} cannot be broadcast like {}: give it {} axes first (expand_dims, reshape)",
         p.shape(in[0]).str(), to.str(), to.rank());
  return {p.broadcast_to(in[0], to)};
}
void broadcast_axis_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  const Shape &axes = a.tuple("axis"), &sizes = a.tuple("size");
  const int rank = f.in[0].extents.rank();
  if (!f.in[0].ranked || axes.size() != sizes.size()) return;
  std::vector<bool> named(at(rank));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_in(axes[i], rank);
    if (!axis) return;
    named[at(*axis)] = true;
    f.is(Axis{f.in[0], *axis}, 1);
    f.is(Axis{f.out[0], *axis}, sizes[i]);
  }
  for (int i = 0; i < rank; ++i)
    if (!named[at(i)]) f.same(Axis{f.in[0], i}, Axis{f.out[0], i});
}
void broadcast_like_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  if (a.is_none("lhs_axes") || a.is_none("rhs_axes")) f.same(f.in[1], f.out[0]);
}
Values tile(Primitives& p, Args in, const Attrs& a) {
  // (d0, d1) tiled (r0, r1): broadcast to (r0, d0, r1, d1) and merge.
  Shape reps = a.tuple("reps"), from = p.shape(in[0]);
  int rank = std::max(reps.rank(), from.rank());
  Shape split, dims, to;
  for (int i = 0; i < rank; ++i) {
    int f = i - (rank - from.rank()), r = i - (rank - reps.rank());
    std::int64_t extent = f >= 0 ? from[at(f)] : 1, count = r >= 0 ? reps[at(r)] : 1;
    if (count < 0) fail("tile cannot repeat {} times", count);
    if (count != 1) split.push_back(count);
    if (f >= 0) dims.push_back(split.rank());
    if (f >= 0) split.push_back(extent);
    to.push_back(times(extent, count));
  }
  return {p.reshape(p.broadcast(in[0], split, dims), to)};
}
Values repeat(Primitives& p, Args in, const Attrs& a) {
  std::int64_t count = a.integer("repeats");
  if (count < 0) fail("repeat cannot repeat {} times", count);
  Value x = in[0];
  if (a.is_none("axis")) x = p.reshape(x, {p.shape(x).elements()});
  Shape from = p.shape(x), split, dims, to = from;
  int axis = a.is_none("axis") ? 0 : axis_of(a.integer("axis"), from.rank());
  for (int i = 0; i < from.rank(); ++i) {
    dims.push_back(split.rank());
    split.push_back(from[at(i)]);
    if (i == axis) split.push_back(count);
  }
  to[at(axis)] = times(to[at(axis)], count);
  return {p.reshape(p.broadcast(x, split, dims), to)};
}

void repeat_shape(ShapeFacts& f, const Attrs& a) {
  if (a.is_none("axis")) return;
  f.ranks(f.in[0], f.out[0]);
  const int rank = f.in[0].extents.rank();
  const auto axis = axis_in(a.integer("axis"), rank);
  for (int i = 0; axis && i < rank; ++i)
    f.linear({f.in[0], i}, {f.out[0], i}, i == *axis ? a.integer("repeats") : 1, 0);
}
void tile_shape(ShapeFacts& f, const Attrs& a) {
  const Shape& reps = a.tuple("reps");
  if (!f.in[0].ranked) return;
  const int rank = std::max(f.in[0].extents.rank(), reps.rank());
  f.rank(f.out[0], rank);
  for (int i = -1; i >= -rank; --i) {
    const std::int64_t count = -i <= reps.rank() ? reps[at(reps.rank() + i)] : 1;
    if (count < 0) return;
    if (-i <= f.in[0].extents.rank())
      f.linear({f.in[0], i}, {f.out[0], i}, count, 0);
    else
      f.is(Axis{f.out[0], i}, count);
  }
}

constexpr OpReference repetition{
    .dtypes = "Any; the result has the dtype of data.",
    .nan = "Copied.",
    .empty = "An axis without elements stays empty; a count of 0 makes the result empty.",
    .integers = integers_unchanged,
    .gradient = "g summed over the copies of each element; of half precision in float32, rounded once",
};

}  // namespace

std::span<const OpDef> broadcast_ops() {
  static const std::vector<std::string_view> one{"data"}, two{"lhs", "rhs"};
  static const std::vector<OpDef> rows{
      {.name = "broadcast_to",
       .summary = "Repeats axes of extent 1 to a shape of the same rank.",
       .reference = repetition |
                    OpReference{.shapes = "data (a, b, ...) -> shape (A, B, ...); A = a, or any A if a is 1; "
                                          "0 in `shape` keeps an extent",
                                .broadcasting = "Axes correspond by position; shape has the rank of data.",
                                .empty = "An axis without elements stays empty.",
                                .formula = "y[i, j, ...] = data[i or 0, j or 0, ...]; 0 on repeated axes",
                                .source = "MXNet 1.9.1's broadcast_to; the cases of "
                                          "tests/golden/ops/broadcast_to__*."},
       .inputs = one,
       .attrs = {tuple_attr("shape", "The shape of the result; 0 keeps the extent of data.")},
       .compose = broadcast_to,
       .shape_rule = broadcast_to_shape},
      {.name = "broadcast_axis",
       .aliases = {"broadcast_axes"},
       .summary = "Repeats the named axes, which have extent 1.",
       .reference =
           repetition |
           OpReference{.shapes = "data (..., 1, ...) -> (..., size, ...)",
                       .broadcasting = "Only the named axes are repeated; each has "
                                       "extent 1.",
                       .empty = "An axis without elements stays empty; a size of 0 makes the result empty.",
                       .formula = "y[..., i, ...] = data[..., 0, ...]",
                       .source = "MXNet 1.9.1's broadcast_axis; the cases of "
                                 "tests/golden/ops/broadcast_axis__*."},
       .inputs = one,
       .attrs = {tuple_attr("axis", "The axes to repeat; negative ones count from the last."),
                 tuple_attr("size", "The new extent of each of them.")},
       .compose = broadcast_axis,
       .shape_rule = broadcast_axis_shape},
      {.name = "broadcast_like",
       .summary = "Repeats axes of lhs that have extent 1 to the shape of rhs.",
       .reference =
           repetition |
           OpReference{
               .shapes = "lhs (a, b, ...), rhs (A, B, ...) -> (A, B, ...); A = a, or any A if a is 1",
               .dtypes = "Any; the result has the dtype of lhs. rhs has any dtype.",
               .broadcasting = "Axes correspond by position. With lhs_axes and rhs_axes only these "
                               "are repeated, and other axes of rhs do not count.",
               .empty = "An axis without elements stays empty; an extent of 0 in rhs makes the result empty.",
               .gradient = "lhs: g summed over the copies of each element; rhs: zeros",
               .formula = "y[i, j, ...] = lhs[i or 0, j or 0, ...]; 0 on repeated axes",
               .source = "MXNet 1.9.1's broadcast_like; the cases of "
                         "tests/golden/ops/broadcast_like__*."},
       .inputs = two,
       .attrs = {tuple_or_none("lhs_axes", "The axes of lhs to repeat; None, of either one: all."),
                 tuple_or_none("rhs_axes",
                               "The axes of rhs with the new extents, one for each of lhs_axes.")},
       .compose = broadcast_like,
       .shape_rule = broadcast_like_shape},
      {.name = "tile",
       .aliases = {"_npi_tile"},
       .summary = "Repeats the whole array along each axis.",
       .reference =
           repetition |
           OpReference{.shapes = "data (a, b, ...) -> (r a, s b, ...); reps (r, s, ...). The shorter one "
                                 "of shape and reps gets leading ones",
                       .formula = "y[i, j, ...] = data[i mod a, j mod b, ...]",
                       .source = "MXNet 1.9.1 (src/operator/tensor/matrix_op.cc)."},
       .inputs = one,
       .attrs = {required("reps", AttrKind::tuple, "The number of copies along each axis, 0 or more.")},
       .compose = tile,
       .shape_rule = tile_shape},
      {.name = "repeat",
       .aliases = {"_np_repeat"},
       .summary = "Repeats each element, or each slice along an axis.",
       .reference =
           repetition |
           OpReference{.shapes =
                           "data (..., a, ...) -> (..., a repeats, ...); without an axis: data (n elements) "
                           "-> (n repeats)",
                       .formula = "y[..., i, ...] = data[..., floor(i / repeats), ...]",
                       .source = "MXNet 1.9.1 (src/operator/tensor/matrix_op.cc)."},
       .inputs = one,
       .attrs = {required("repeats", AttrKind::integer, "The number of copies of each element, 0 or more."),
                 or_none("axis", AttrKind::integer,
                         "The axis; negative: from the last. None: the elements in C order.")},
       .compose = repeat,
       .shape_rule = repeat_shape},
  };
  return rows;
}

}  // namespace kiln::ops
