// Classic operators that reshape arrays or permute their elements.
#include "frontend/ops/reference.h"
#include "frontend/ops/reshape_codes.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>

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
/// The axes [begin, end) of an array that two attributes name; all without them. Throws for no axis.
std::pair<int, int> axis_range(const Attrs& a, std::string_view begin_name, std::string_view end_name,
                               const Shape& shape) {
  const int rank = shape.rank();
  if (a.is_none(begin_name) && a.is_none(end_name)) return {0, rank};
  const auto bound = [&](std::string_view name, std::int64_t otherwise) {
    const std::int64_t v = a.is_none(name) ? otherwise : a.integer(name);
    return v < 0 ? v + rank : v;
  };
  const std::int64_t begin = bound(begin_name, 0), end = bound(end_name, rank);
  if (begin < 0 || end > rank || begin >= end)
    fail(Mistake::no_axis,
         "{} and {} name the axes from {} to before {}: an array of shape {} has none there", begin_name,
         end_name, a.is_none(begin_name) ? 0 : a.integer(begin_name),
         a.is_none(end_name) ? rank : a.integer(end_name), shape.str());
  return {static_cast<int>(begin), static_cast<int>(end)};
}
Values reshape_like(Primitives& p, Args in, const Attrs& a) {
  const Shape &l = p.shape(in[0]), &r = p.shape(in[1]);
  const auto [lb, le] = axis_range(a, "lhs_begin", "lhs_end", l);
  const auto [rb, re] = axis_range(a, "rhs_begin", "rhs_end", r);
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
  int axis = new_axis_of(a.integer("axis"), s.rank());
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

AttrSpec int_or_none(std::string_view name, std::string_view sentence) {
  return or_none(name, AttrKind::integer, sentence);
}

}  // namespace

std::span<const OpDef> shape_ops() {
  static const std::vector<std::string_view> one{"data"}, two{"lhs", "rhs"};
  static const std::vector<OpDef> rows{
      {.name = "Reshape",
       .aliases = {"reshape"},
       .summary = "Gives the elements another shape, in C order; 0 and -1 to -4 in the shape are codes.",
       .reference =
           reshape_reference |
           OpReference{.shapes = "data (...) -> (shape, its codes resolved), as many elements",
                       .empty = "A 0 in shape is a code, never an extent. -1 beside an extent of 0 throws.",
                       .source = matrix_op_source},
       .inputs = one,
       .attrs = {tuple_attr("shape",
                            "The extents of the result; each steps to the next axis of data. Code 0 is the "
                            "extent of data, and -1 is inferred, once. Code -2 stands for all extents that "
                            "are left, -3 for the product of two. Codes -4, a, b split an extent into a and "
                            "b; one of them may be -1."),
                 bool_attr(
                     "reverse", false,
                     "Whether data and shape are read from their ends; -4 then follows its two extents."),
                 tuple_attr("target_shape",
                            "The older form of shape, read if shape is (). Its 0 is inferred, once; reverse "
                            "does not apply to it."),
                 bool_attr(
                     "keep_highest", false,
                     "In symbol files: whether the first extent of data replaces that of target_shape.")},
       .compose = reshape,
       .shape_rule = reshape_shape},
      {.name = "reshape_like",
       .aliases = {"_npx_reshape_like"},
       .summary =
           "Gives the elements of lhs the shape of rhs, or some axes of lhs the extents of some of rhs.",
       .reference =
           reshape_reference |
           OpReference{.shapes =
                           "lhs (a..., b..., c...), rhs (d..., e..., f...) -> (a..., e..., c...), as many "
                           "elements as lhs; b are the axes lhs_begin to lhs_end, e are rhs_begin to rhs_end",
                       .dtypes = "Any, lhs and rhs independently; the result has the dtype of lhs.",
                       .gradient = "lhs: g with the shape of lhs. rhs: zeros.",
                       .formula = "Element i of the result is element i of lhs, both counted in C order.",
                       .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc)."},
       .inputs = two,
       .attrs = {int_or_none("lhs_begin", "The first replaced axis of lhs; None: 0."),
                 int_or_none("lhs_end",
                             "The axis of lhs after the last replaced one; None: the rank of lhs."),
                 int_or_none("rhs_begin", "The first axis of rhs to take; None: 0."),
                 int_or_none("rhs_end",
                             "The axis of rhs after the last one to take; None: the rank of rhs.")},
       .compose = reshape_like},
      {.name = "Flatten",
       .aliases = {"_npx_batch_flatten", "flatten"},
       .summary = "Merges all axes except the first into one.",
       .reference =
           reshape_reference | OpReference{.shapes = "data (N, ...) -> (N, M); M is the product of the other "
                                                     "extents, 1 if there are none. Rank 0 throws",
                                           .source = matrix_op_source},
       .inputs = one,
       .compose = flatten,
       .shape_rule = flatten_shape},
      {.name = "expand_dims",
       .aliases = {"_npi_expand_dims"},
       .summary = "Inserts an axis of extent 1.",
       .reference = reshape_reference |
                    OpReference{.shapes = "data (a..., b...) -> (a..., 1, b...)", .source = matrix_op_source},
       .inputs = one,
       .attrs = {required("axis", AttrKind::integer,
                          "The position of the new axis in the result; negative: from the end.")},
       .compose = expand_dims,
       .shape_rule = expand_dims_shape},
      {.name = "squeeze",
       .summary = "Removes axes of extent 1.",
       .reference =
           reshape_reference |
           OpReference{
               .shapes =
                   "data (...) -> (... without the removed axes); (1) if none is left, in numpy mode too",
               .source = matrix_op_source},
       .inputs = one,
       .attrs = {tuple_or_none("axis",
                               "The axes to remove; negative: from the end. None: all of extent 1. An axis "
                               "of another extent throws.")},
       .compose = squeeze,
       .shape_rule = squeezed_shape},
      {.name = "transpose",
       .summary = "Permutes the axes, by default reverses their order.",
       .reference =
           layout_reference | OpReference{.shapes = "data (d0, ..., dn) -> (d[axes[0]], ..., d[axes[n]])",
                                          .gradient = "data: g transposed by the inverse permutation.",
                                          .formula = "Axis i of the result is axis axes[i] of data.",
                                          .source = matrix_op_source},
       .inputs = one,
       .attrs = {tuple_attr("axes",
                            "The permutation: each axis of data once; negative: from the end. (): the axes "
                            "in reverse order.")},
       .compose = transpose,
       .shape_rule = transpose_shape},
      {.name = "SwapAxis",
       .aliases = {"_npi_swapaxes", "swapaxes"},
       .summary = "Swaps two axes.",
       .reference =
           layout_reference |
           OpReference{
               .shapes = "data (a..., D1, b..., D2, c...) -> (a..., D2, b..., D1, c...)",
               .gradient = "data: g with the same axes swapped.",
               .formula = "Axis dim1 of the result is axis dim2 of data, and axis dim2 is axis dim1 of data.",
               .source = "MXNet 1.9.1 (src/operator/swapaxis.cc)."},
       .inputs = one,
       .attrs = {int_attr("dim1", 0, "The first axis; negative: from the end."),
                 int_attr("dim2", 0, "The second axis; negative: from the end.")},
       .compose = swap_axes,
       .shape_rule = swap_axes_shape},
      {.name = "reverse",
       .aliases = {"flip"},
       .summary = "Reverses the order of the elements along axes.",
       .reference = layout_reference | OpReference{.shapes = "data (...) -> (...)",
                                                   .gradient = "data: g reversed along the same axes.",
                                                   .formula = "Along each named axis of n elements, element "
                                                              "i of the result is element n - 1 - i of data.",
                                                   .source = matrix_op_source},
       .inputs = one,
       .attrs = {required("axis", AttrKind::tuple,
                          "The axes to reverse, each once; negative: from the end. (): none.")},
       .compose = reverse,
       .shape_rule = elementwise_shape},
      {.name = "diag",
       .summary = "Extracts a diagonal of matrices, or makes a matrix with a vector as its diagonal.",
       .reference =
           layout_reference |
           OpReference{
               .shapes =
                   "data (N) -> (N + |k|, N + |k|). data (..., H, ..., W, ...), H along axis1, W along axis2 "
                   "-> (..., D), the other axes first. D = min(H - max(-k, 0), W - max(k, 0)), at least 0",
               .empty = "A vector without elements gives |k| times |k| zeros; a diagonal outside of the "
                        "matrix has no elements.",
               .gradient = "data: of a matrix that is made, the diagonal of g; of an extracted diagonal, g "
                           "on it and zeros elsewhere.",
               .formula = "Matrix: y[i, i + k] = data[i] for k >= 0, y[i - k, i] = data[i] for k < 0, else "
                          "0. Diagonal: y[..., i] = data[i, i + k] for k >= 0, data[i - k, i] for k < 0, at "
                          "positions of axis1 and axis2.",
               .source = "MXNet 1.9.1 (src/operator/tensor/diag_op.cc)."},
       .inputs = one,
       .attrs = {int_attr("k", 0,
                          "The diagonal: 0 is the main one, positive numbers are above it, negative ones "
                          "below; at most 2^30 away."),
                 int_attr("axis1", 0, "The axis of the rows of the matrices; not read for a vector."),
                 int_attr("axis2", 1, "The axis of the columns of the matrices; not read for a vector.")},
       .compose = diag},
      {.name = "depth_to_space",
       .summary = "Moves channels into square blocks of pixels.",
       .reference = layout_reference |
                    OpReference{.shapes = "data (N, C b b, H, W) -> (N, C, H b, W b); b = block_size",
                                .gradient = "data: space_to_depth of g.",
                                .formula = "y[n, c, h b + i, w b + j] = data[n, (i b + j) C + c, h, w].",
                                .source = matrix_op_source},
       .inputs = one,
       .attrs = {required(
           "block_size", AttrKind::integer,
           "The height and width of a block, in pixels of the result; its square divides the channels.")},
       .compose = depth_to_space},
      {.name = "space_to_depth",
       .summary = "Moves square blocks of pixels into channels.",
       .reference = layout_reference |
                    OpReference{.shapes = "data (N, C, H b, W b) -> (N, C b b, H, W); b = block_size",
                                .gradient = "data: depth_to_space of g.",
                                .formula = "y[n, (i b + j) C + c, h, w] = data[n, c, h b + i, w b + j].",
                                .source = matrix_op_source},
       .inputs = one,
       .attrs = {required("block_size", AttrKind::integer,
                          "The height and width of a block, in pixels of data; it divides both extents.")},
       .compose = space_to_depth},
  };
  return rows;
}

}  // namespace kiln::ops
