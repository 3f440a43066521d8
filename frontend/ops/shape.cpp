// Classic operators on shapes, layouts and concatenation.
#include "frontend/ops/reshape_codes.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>
#include <numeric>

namespace kiln::ops {
namespace {

Shape reversed(Shape s) {
  std::reverse(s.begin(), s.end());
  return s;
}

/// The attributes of Reshape.
struct ReshapeCode {
  Shape code;
  bool reverse;  ///< codes are applied from the last axis
};
ReshapeCode reshape_code(const Attrs& a) {
  const Shape& older = a.tuple("target_shape");
  if (!a.tuple("shape").empty() || older.empty()) return {a.tuple("shape"), a.boolean("reverse")};
  // In the older attribute target_shape, 0 is inferred, except for a first axis that is kept. MXNet does not
  // reverse it.
  Shape code = older;
  std::replace(code.begin(), code.end(), std::int64_t{0}, std::int64_t{-1});
  if (a.boolean("keep_highest")) code[0] = 0;
  return {code, false};
}
Values reshape(Primitives& p, Args in, const Attrs& a) {
  const Shape& from = p.shape(in[0]);
  const auto [code, reverse] = reshape_code(a);
  Shape to = reverse ? reversed(reshape_target(reversed(from), reversed(code))) : reshape_target(from, code);
  return {p.reshape(in[0], to)};
}
void reshape_shape(ShapeFacts& f, const Attrs& a) {
  const auto [code, reverse] = reshape_code(a);
  if (const auto steps = reshape_steps(reverse ? reversed(code) : code))
    reshaped(f, f.in[0], f.out[0], *steps, reverse);
}
Values reshape_like(Primitives& p, Args in, const Attrs& a) {
  const Shape &l = p.shape(in[0]), &r = p.shape(in[1]);
  auto bound = [&](std::string_view name, int rank, int fallback) {
    if (a.is_none(name)) return fallback;
    std::int64_t v = a.integer(name);
    return static_cast<int>(std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank));
  };
  int lb = bound("lhs_begin", l.rank(), 0), le = bound("lhs_end", l.rank(), l.rank());
  int rb = bound("rhs_begin", r.rank(), 0), re = bound("rhs_end", r.rank(), r.rank());
  Shape to;
  for (int i = 0; i < lb; ++i) to.push_back(l[at(i)]);
  for (int i = rb; i < re; ++i) to.push_back(r[at(i)]);
  for (int i = le; i < l.rank(); ++i) to.push_back(l[at(i)]);
  return {p.reshape(in[0], to)};
}
Values flatten(Primitives& p, Args in, const Attrs&) {
  const Shape& s = p.shape(in[0]);
  if (s.empty()) fail("Flatten needs an array of at least one axis");
  return {p.reshape(in[0], {s[0], Shape(s.dims().subspan(1)).elements()})};
}
void flatten_shape(ShapeFacts& f, const Attrs&) {
  f.rank(f.out[0], 2);
  f.same(Axis{f.in[0], 0}, Axis{f.out[0], 0});
  if (f.in[0].ranked && f.in[0].extents.rank() > 0)
    f.same_product(axes_between(f.in[0], 1, f.in[0].extents.rank()), {{f.out[0], 1}});
}
Values expand_dims(Primitives& p, Args in, const Attrs& a) {
  const Shape& s = p.shape(in[0]);
  int axis = axis_of(a.integer("axis"), s.rank() + 1);
  Shape to;
  for (int i = 0; i <= s.rank(); ++i) {
    if (i == axis) to.push_back(1);
    if (i < s.rank()) to.push_back(s[at(i)]);
  }
  return {p.reshape(in[0], to)};
}
void expand_dims_shape(ShapeFacts& f, const Attrs& a) {
  without_axis(f, f.out[0], f.in[0], a.integer("axis"));
  if (const auto i = axis_in(a.integer("axis"), f.out[0].extents.rank())) f.is(Axis{f.out[0], *i}, 1);
}
Values squeeze(Primitives& p, Args in, const Attrs& a) {
  const Shape& s = p.shape(in[0]);
  Shape to, axes = a.is_none("axis") ? Shape{} : axes_of(a.tuple("axis"), s.rank());
  for (std::int64_t axis : axes)
    if (s[at(static_cast<int>(axis))] != 1)
      fail("squeeze: axis {} of {} has more than one element", axis, s.str());
  for (int i = 0; i < s.rank(); ++i) {
    bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!(a.is_none("axis") ? s[at(i)] == 1 : named)) to.push_back(s[at(i)]);
  }
  return {p.reshape(in[0], to.empty() ? Shape{1} : to)};
}
Values transpose(Primitives& p, Args in, const Attrs& a) {
  int rank = p.shape(in[0]).rank();
  Shape order = a.tuple("axes");
  if (order.empty())
    for (int i = rank; i-- > 0;) order.push_back(i);
  if (order.rank() != rank)
    fail("transpose of {} needs {} axes, got {}", p.shape(in[0]).str(), rank, order.str());
  for (std::int64_t& axis : order) axis = axis_of(axis, rank);
  axes_of(order, rank);  // each axis once
  return {p.transpose(in[0], order)};
}
Values swap_axes(Primitives& p, Args in, const Attrs& a) {
  int rank = p.shape(in[0]).rank();
  Shape order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[at(axis_of(a.integer("dim1"), rank))], order[at(axis_of(a.integer("dim2"), rank))]);
  return {p.transpose(in[0], order)};
}
Shape swapped_order(const Attrs& a, int rank) {
  Shape order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  const auto first = axis_in(a.integer("dim1"), rank), second = axis_in(a.integer("dim2"), rank);
  if (first && second) std::swap(order[at(*first)], order[at(*second)]);
  return order;
}
void swap_axes_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  if (f.in[0].ranked) permuted(f, f.in[0], f.out[0], swapped_order(a, f.in[0].extents.rank()));
}
void transpose_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  Shape order = a.tuple("axes");
  if (order.empty() && !f.in[0].ranked) return;
  if (order.empty())
    for (int i = f.in[0].extents.rank(); i-- > 0;) order.push_back(i);
  permuted(f, f.in[0], f.out[0], order);
}
Values reverse(Primitives& p, Args in, const Attrs& a) {
  return {p.reverse(in[0], axes_of(a.tuple("axis"), p.shape(in[0]).rank()))};
}

// Repeating.

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

// Joining.

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

// space_to_depth and depth_to_space.

/// A vector as the k-th diagonal of a matrix, or the k-th diagonals of matrices along two axes.
Values diag(Primitives& p, Args in, const Attrs& a) {
  const Shape from = p.shape(in[0]);
  const std::int64_t k = a.integer("k");
  if (k < -(1 << 30) || k > 1 << 30) fail("diag has no diagonal {}", k);
  const std::int64_t right = std::max<std::int64_t>(k, 0), down = std::max<std::int64_t>(-k, 0);
  if (from.rank() == 1) {
    Value x = p.pad(in[0], 0, {0}, {right + down});
    const std::int64_t n = p.shape(x)[0];
    const TensorType square{DType::i64, {n, n}};
    Value hit =
        p.compare(Compare::eq, p.sub(p.iota(square, 1), p.iota(square, 0)), p.full_integer(square, k));
    Value along = p.broadcast(x, square.shape, {k >= 0 ? 0 : 1});
    return {p.select(hit, along, p.like(along, 0))};
  }
  const int rows = axis_of(a.integer("axis1"), from.rank()),
            columns = axis_of(a.integer("axis2"), from.rank());
  if (rows == columns) fail("diag needs two different axes, got {} twice", rows);
  Shape order = other_axes(axes_of({rows, columns}, from.rank()), from.rank()), to;
  for (std::int64_t i : order) to.push_back(from[static_cast<std::size_t>(i)]);
  order.push_back(rows);
  order.push_back(columns);
  const std::int64_t height = from[at(rows)], width = from[at(columns)];
  const std::int64_t count = std::min(height - down, width - right);
  if (count < 1) {  // as in numpy, a diagonal outside of the array has no elements
    to.push_back(0);
    return {p.full({p.dtype(in[0]), to}, 0)};
  }
  const int last = to.rank();
  Shape flat = to;
  flat.push_back(times(height, width));
  Shape start = Shape::filled(last + 1, 0), step = Shape::filled(last + 1, 1), limit = flat;
  start[at(last)] = down * width + right;
  limit[at(last)] = start[at(last)] + (count - 1) * (width + 1) + 1;
  step[at(last)] = width + 1;
  return {p.slice(p.reshape(p.transpose(in[0], order), flat), start, limit, step)};
}

std::int64_t block_size(Primitives& p, Args in, const Attrs& a) {
  std::int64_t b = a.integer("block_size");
  if (b < 1 || b > 1 << 15 || p.shape(in[0]).rank() != 4)
    fail("needs an (N, C, H, W) array and a block_size of at least 1, got {} and {}", p.shape(in[0]).str(),
         b);
  return b;
}
Values depth_to_space(Primitives& p, Args in, const Attrs& a) {
  std::int64_t b = block_size(p, in, a);
  Shape s = p.shape(in[0]);
  if (s[1] % (b * b) != 0) fail("depth_to_space: {} channels are no multiple of {}", s[1], b * b);
  Value x = p.reshape(in[0], {s[0], b, b, s[1] / (b * b), s[2], s[3]});
  return {p.reshape(p.transpose(x, {0, 3, 4, 1, 5, 2}), {s[0], s[1] / (b * b), s[2] * b, s[3] * b})};
}
Values space_to_depth(Primitives& p, Args in, const Attrs& a) {
  std::int64_t b = block_size(p, in, a);
  Shape s = p.shape(in[0]);
  if (s[2] % b != 0 || s[3] % b != 0) fail("space_to_depth: {} is not divisible by {}", s.str(), b);
  Value x = p.reshape(in[0], {s[0], s[1], s[2] / b, b, s[3] / b, b});
  return {p.reshape(p.transpose(x, {0, 3, 5, 1, 2, 4}), {s[0], times(s[1], b * b), s[2] / b, s[3] / b})};
}

AttrSpec int_or_none(std::string_view name) { return or_none(name, AttrKind::integer); }

}  // namespace

std::span<const OpDef> shape_ops() {
  static const std::vector<std::string_view> one{"data"}, two{"lhs", "rhs"};
  static const std::vector<OpDef> rows{
      {.name = "Reshape",
       .aliases = {"reshape"},
       .summary = "Reshapes in C order; 0 and -1 to -4 are codes.",
       .inputs = one,
       .attrs = {tuple_attr("shape"), bool_attr("reverse", false), tuple_attr("target_shape"),
                 bool_attr("keep_highest", false)},
       .compose = reshape,
       .shape_rule = reshape_shape},
      {.name = "reshape_like",
       .aliases = {"_npx_reshape_like"},
       .summary = "Reshapes lhs to the shape of rhs, or axes of it.",
       .inputs = two,
       .attrs = {int_or_none("lhs_begin"), int_or_none("lhs_end"), int_or_none("rhs_begin"),
                 int_or_none("rhs_end")},
       .compose = reshape_like},
      {.name = "Flatten",
       .aliases = {"_npx_batch_flatten", "flatten"},
       .summary = "Merges all axes but the first.",
       .inputs = one,
       .compose = flatten,
       .shape_rule = flatten_shape},
      {.name = "expand_dims",
       .aliases = {"_npi_expand_dims"},
       .summary = "Inserts an axis of extent 1.",
       .inputs = one,
       .attrs = {required("axis", AttrKind::integer)},
       .compose = expand_dims,
       .shape_rule = expand_dims_shape},
      {.name = "squeeze",
       .summary = "Removes axes of extent 1.",
       .inputs = one,
       .attrs = {tuple_or_none("axis")},
       .compose = squeeze,
       .shape_rule = squeezed_shape},
      {.name = "transpose",
       .summary = "Permutes the axes, by default reverses them.",
       .inputs = one,
       .attrs = {tuple_attr("axes")},
       .compose = transpose,
       .shape_rule = transpose_shape},
      {.name = "SwapAxis",
       .aliases = {"_npi_swapaxes", "swapaxes"},
       .summary = "Swaps two axes.",
       .inputs = one,
       .attrs = {int_attr("dim1", 0), int_attr("dim2", 0)},
       .compose = swap_axes,
       .shape_rule = swap_axes_shape},
      {.name = "reverse",
       .aliases = {"flip"},
       .summary = "Reverses the elements along axes.",
       .inputs = one,
       .attrs = {required("axis", AttrKind::tuple)},
       .compose = reverse,
       .shape_rule = elementwise_shape},
      {.name = "broadcast_to",
       .summary = "Broadcasts to a shape; 0 keeps an extent.",
       .inputs = one,
       .attrs = {tuple_attr("shape")},
       .compose = broadcast_to,
       .shape_rule = broadcast_to_shape},
      {.name = "broadcast_axis",
       .aliases = {"broadcast_axes"},
       .summary = "Broadcasts axes of extent 1.",
       .inputs = one,
       .attrs = {tuple_attr("axis"), tuple_attr("size")},
       .compose = broadcast_axis,
       .shape_rule = broadcast_axis_shape},
      {.name = "broadcast_like",
       .summary = "Broadcasts to the shape of rhs.",
       .inputs = two,
       .attrs = {tuple_or_none("lhs_axes"), tuple_or_none("rhs_axes")},
       .compose = broadcast_like,
       .shape_rule = broadcast_like_shape},
      {.name = "tile",
       .aliases = {"_npi_tile"},
       .summary = "Tiles the array along each axis.",
       .inputs = one,
       .attrs = {required("reps", AttrKind::tuple)},
       .compose = tile,
       .shape_rule = tile_shape},
      {.name = "repeat",
       .aliases = {"_np_repeat"},
       .summary = "Repeats each element.",
       .inputs = one,
       .attrs = {required("repeats", AttrKind::integer), int_or_none("axis")},
       .compose = repeat,
       .shape_rule = repeat_shape},
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
      {.name = "diag",
       .summary = "A diagonal of matrices, or a matrix with a vector as its diagonal.",
       .inputs = one,
       .attrs = {int_attr("k", 0), int_attr("axis1", 0), int_attr("axis2", 1)},
       .compose = diag},
      {.name = "depth_to_space",
       .summary = "Moves channels into blocks of pixels.",
       .inputs = one,
       .attrs = {required("block_size", AttrKind::integer)},
       .compose = depth_to_space},
      {.name = "space_to_depth",
       .summary = "Moves blocks of pixels into channels.",
       .inputs = one,
       .attrs = {required("block_size", AttrKind::integer)},
       .compose = space_to_depth},
  };
  return rows;
}

}  // namespace kiln::ops
