// Operators that read or write by indices.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/shape_rules.h"

#include <limits>

namespace kiln::ops {
namespace {

/// Indices of any dtype as i64, truncated: wrapped around, checked, or unchanged for a gather that clamps. As
/// in MXNet 1.9.1, the check rejects negative indices.
Value indices_of_mode(Primitives& p, Value indices, const std::string& mode, std::int64_t extent) {
  Value i = convert(p, indices, DType::i64);
  if (mode == "wrap") return p.binary(Binary::mod, i, p.full_integer(p.type(i), extent));
  return mode == "raise" ? p.check_bounds(i, extent) : clipped_indices(p, i, extent);
}

Values take(Primitives& p, Args in, const Attrs& a) {
  int axis = axis_of(a.integer("axis"), p.shape(in[0]).rank());
  return {p.gather(in[0], indices_of_mode(p, in[1], a.word("mode"), p.shape(in[0])[at(axis)]), axis)};
}
void take_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &x = f.in[0], &indices = f.in[1], &out = f.out[0];
  const int rank = x.extents.rank(), more = indices.extents.rank();
  const auto axis = axis_in(a.integer("axis"), rank);
  if (!x.ranked || !indices.ranked || !axis || rank - 1 + more > Shape::max_rank) return;
  f.rank(out, rank - 1 + more);
  for (int i = 0; i < rank; ++i)
    if (i != *axis) f.same(Axis{x, i}, Axis{out, i < *axis ? i : i - 1 + more});
  for (int i = 0; i < more; ++i) f.same(Axis{indices, i}, Axis{out, *axis + i});
}
void one_hot_shape(ShapeFacts& f, const Attrs& a) {
  without_axis(f, f.out[0], f.in[0], -1);
  f.is(Axis{f.out[0], -1}, a.integer("depth"));
}
Values one_hot(Primitives& p, Args in, const Attrs& a) {
  Shape to = p.shape(in[0]);
  int last = to.rank();
  to.push_back(a.integer("depth"));
  Shape dims;
  for (int i = 0; i < last; ++i) dims.push_back(i);
  Value hit = p.compare(Compare::eq, p.broadcast(convert(p, in[0], DType::i64), to, dims),
                        p.iota({DType::i64, to}, last));
  TensorType type{a.dtype("dtype"), to};
  return {p.select(hit, p.full(type, a.real("on_value")), p.full(type, a.real("off_value")))};
}
/// The elements of `shape` whose position along an axis equals the index (clamped).
Value picked(Primitives& p, const Shape& shape, Value index, int axis) {
  Value last = p.full_integer(p.type(index), shape[at(axis)] - 1);
  Value i = p.binary(Binary::max, p.binary(Binary::min, index, last), p.like(index, 0));
  return p.compare(Compare::eq, p.iota({DType::i64, shape}, axis), spread(p, i, shape, {axis}));
}
/// x[..., index, ...] along one axis: a reduction over the elements that are picked.
Value pick_along(Primitives& p, Value x, Value index, int axis) {
  Value hit = picked(p, p.shape(x), index, axis);
  // A maximum, not a sum: it returns the element itself, including -0.
  if (is_floating(p.dtype(x)))
    return p.reduce(Reduce::max, p.select(hit, x, p.like(x, -std::numeric_limits<double>::infinity())),
                    {axis});
  return p.reduce(Reduce::sum, p.select(hit, x, p.like(x, 0)), {axis});
}
struct Pick {
  Shape shape;  ///< of the data: one axis if all are one
  int axis;
  Value index;
};
Pick pick_of(Primitives& p, Args in, const Attrs& a) {
  Pick r{p.shape(in[0]), 0, {}};
  if (a.is_none("axis"))
    r.shape = {r.shape.elements()};
  else
    r.axis = axis_of(a.integer("axis"), r.shape.rank());
  Shape places, kept = r.shape;
  for (int i = 0; i < r.shape.rank(); ++i)
    if (i != r.axis) places.push_back(r.shape[at(i)]);
  kept[at(r.axis)] = 1;
  const Shape& index = p.shape(in[1]);
  if (!(index == places || index == kept || (places.empty() && index.elements() == 1)))
    fail("pick along axis {} of {} needs an index of the shape {} or {}, got {}", r.axis, r.shape.str(),
         (places.empty() ? Shape{1} : places).str(), kept.str(), index.str());
  r.index = p.reshape(indices_of_mode(p, in[1], a.word("mode"), r.shape[at(r.axis)]), places);
  return r;
}
Values pick(Primitives& p, Args in, const Attrs& a) {
  const Pick r = pick_of(p, in, a);
  const Value y = pick_along(p, p.reshape(in[0], r.shape), r.index, r.axis);
  return {a.boolean("keepdims") ? p.keep_dims(y, r.shape, {r.axis}) : at_least_1d(p, y)};
}
/// The head where an element is picked. No array is scattered into, and a NaN has a gradient too.
Value pick_gradient(Primitives& p, const Shape& shape, Value index, int axis, Value head) {
  const Value g = spread(p, head, shape, {axis});
  return p.select(picked(p, shape, index, axis), g, p.like(g, 0));
}
Values pick_gradient(Primitives& p, const GradientArgs& args) {
  const Pick r = pick_of(p, args.in, args.attrs);
  const Value dx = pick_gradient(p, r.shape, r.index, r.axis, args.heads[0]);
  return {p.reshape(dx, p.shape(args.in[0])), {}};
}
Values batch_take(Primitives& p, Args in, const Attrs&) {
  const Shape& s = p.shape(in[0]);
  if (s.rank() != 2 || p.shape(in[1]).elements() != s[0])
    fail("batch_take needs (n, k) and n indices, got {} and {}", s.str(), p.shape(in[1]).str());
  const Value index = clipped_indices(p, convert(p, in[1], DType::i64), s[1]);
  const Value y = pick_along(p, in[0], p.reshape(index, {s[0]}), 1);
  return {p.reshape(y, p.shape(in[1]))};
}
Values batch_take_gradient(Primitives& p, const GradientArgs& args) {
  const Shape shape = p.shape(args.in[0]);
  const Value index = p.reshape(convert(p, args.in[1], DType::i64), {shape[0]});
  return {pick_gradient(p, shape, index, 1, p.reshape(args.heads[0], {shape[0]})), {}};
}
/// The linear index of each index vector (one index per axis of `extents`, along axis 0 of `indices`), whose
/// indices are checked under Check::indices.
Value linear_index(Primitives& p, Value indices, const Shape& extents) {
  const Shape shape = p.shape(indices);
  Shape rest(shape.dims().subspan(1)), start = Shape::filled(shape.rank(), 0), limit = shape;
  Value sum = p.full({DType::i64, rest}, 0);
  for (int i = 0; i < extents.rank(); ++i) {
    start[0] = i;
    limit[0] = i + 1;
    Value index = p.reshape(p.slice(indices, start, limit, Shape::filled(shape.rank(), 1)), rest);
    index = clipped_indices(p, index, extents[at(i)]);
    sum = p.add(p.mul(sum, p.full_integer(p.type(sum), extents[at(i)])), index);
  }
  return sum;
}
/// An array of shape `data` as rows, one per index vector into its first axes, and the row selected by each
/// vector.
struct RowsByIndex {
  Shape rows;
  Value which;
};
RowsByIndex rows_by_index(Primitives& p, const Shape& data, Value indices) {
  const Shape shape = p.shape(indices);
  if (shape.rank() < 2 || shape[0] < 1 || shape[0] > data.rank())
    fail("needs indices of shape (M, N, ...), M from 1 to {}, got {}", data.rank(), shape.str());
  const int m = static_cast<int>(shape[0]);
  Shape extents(data.dims().first(at(m))), rows{extents.elements()};
  for (std::int64_t d : data.dims().subspan(at(m))) rows.push_back(d);
  Value extent = p.broadcast_along(p.constant({DType::i64, {m}}, std::as_bytes(extents.dims())), shape, 0);
  // Negative indices count from the end.
  const Value given = convert(p, indices, DType::i64);
  const Value within = p.check_indices() ? p.select(p.compare(Compare::lt, given, p.like(given, 0)),
                                                    p.add(given, extent), given)
                                         : p.binary(Binary::mod, given, extent);
  return {rows, linear_index(p, within, extents)};
}
Values gather_nd(Primitives& p, Args in, const Attrs&) {
  RowsByIndex r = rows_by_index(p, p.shape(in[0]), in[1]);
  return {scalar_or_1d(p, p.gather(p.reshape(in[0], r.rows), r.which, 0))};
}
/// `into` with the selected rows replaced.
Value set_nd(Primitives& p, Value into, Value rows, Value indices) {
  const Shape shape = p.shape(into);
  RowsByIndex r = rows_by_index(p, shape, indices);
  Shape expected = p.shape(r.which);
  for (std::int64_t d : r.rows.dims().subspan(1)) expected.push_back(d);
  if (!(p.shape(rows) == expected))
    fail("indices {} into {} need data of shape {}, got {}", p.shape(indices).str(), shape.str(),
         expected.str(), p.shape(rows).str());
  Value to = p.reshape(into, r.rows);
  return p.reshape(p.scatter(ir::Scatter::replace, to, r.which, rows, 0), shape);
}
Values scatter_nd(Primitives& p, Args in, const Attrs& a) {
  return {set_nd(p, p.full({p.dtype(in[0]), a.tuple("shape")}, 0), in[0], in[1])};
}
Values scatter_set_nd(Primitives& p, Args in, const Attrs& a) {
  if (!(p.shape(in[0]) == a.tuple("shape")))
    fail("the shape {} is not that of lhs, {}", a.tuple("shape").str(), p.shape(in[0]).str());
  return {set_nd(p, in[0], in[1], in[2])};
}
/// Functions of indices alone, computed in integers.
Values zero_gradient(Primitives&, const ir::GradientArgs& args) { return Values(args.in.size()); }
Values ravel(Primitives& p, Args in, const Attrs& a) {
  const Shape &extents = a.tuple("shape"), &shape = p.shape(in[0]);
  if (shape.rank() != 2 || shape[0] != extents.rank())
    fail("indices into {} have the shape ({}, n), got {}", extents.str(), extents.rank(), shape.str());
  Value linear = linear_index(p, convert(p, in[0], DType::i64), extents);
  return {scalar_or_1d(p, convert(p, linear, p.dtype(in[0])))};
}
Values unravel(Primitives& p, Args in, const Attrs& a) {
  const Shape &extents = a.tuple("shape"), shape = p.shape(in[0]);
  Value rest = convert(p, in[0], DType::i64);
  Shape row{1};
  for (std::int64_t d : shape) row.push_back(d);
  Values parts(at(extents.rank()));
  for (int i = extents.rank() - 1; i >= 0; --i) {
    if (extents[at(i)] < 1 && i > 0) fail("cannot unravel into the shape {}", extents.str());
    Value extent = p.full_integer(p.type(rest), extents[at(i)]);
    parts[at(i)] = p.reshape(i > 0 ? p.binary(Binary::mod, rest, extent) : rest, row);
    if (i > 0) rest = p.div(rest, extent);
  }
  if (parts.empty()) fail("unravel_index needs a shape of at least one axis");
  return {convert(p, p.concatenate(parts, 0), p.dtype(in[0]))};
}
Values index_copy(Primitives& p, Args in, const Attrs&) {
  const Shape old = p.shape(in[0]), index = p.shape(in[1]), fresh = p.shape(in[2]);
  Shape expected{index.elements()};
  for (std::int64_t d : old.dims().subspan(old.empty() ? 0 : 1)) expected.push_back(d);
  if (old.empty() || index.rank() != 1 || !(fresh == expected))
    fail("index_copy into {} needs indices (n,) and rows {}, got {} and {}", old.str(), expected.str(),
         index.str(), fresh.str());
  if (fresh[0] > old[0]) fail("index_copy cannot copy {} rows into {}", fresh[0], old.str());
  const Value rows = clipped_indices(p, convert(p, in[1], DType::i64), old[0]);
  return {p.scatter(ir::Scatter::replace, in[0], rows, in[2], 0)};
}

}  // namespace

std::span<const OpDef> index_ops() {
  static const std::vector<OpDef> rows{
      {.name = "take",
       .aliases = {"_npi_take"},
       .summary = "Gathers slices along an axis by indices.",
       .inputs = {"a", "indices"},
       .attrs = {int_attr("axis", 0), word_attr("mode", "clip", {"clip", "raise", "wrap"})},
       .compose = take,
       .shape_rule = take_shape},
      {.name = "one_hot",
       .aliases = {"_npx_one_hot"},
       .summary = "One-hot encoding: on_value at each index, off_value elsewhere.",
       .inputs = {"indices"},
       .attrs = {required("depth", AttrKind::integer), real_attr("on_value", 1), real_attr("off_value", 0),
                 dtype_attr("float32")},
       .compose = one_hot,
       .shape_rule = one_hot_shape},
      {.name = "pick",
       .aliases = {"_npx_pick", "choose_element_0index"},
       .summary = "Picks one element along an axis for each index.",
       .inputs = {"data", "index"},
       .attrs = {{"axis", AttrKind::integer, std::int64_t{-1}, true},
                 bool_attr("keepdims", false),
                 word_attr("mode", "clip", {"clip", "wrap"})},
       .compose = pick,
       .gradient = pick_gradient},
      {.name = "batch_take",
       .summary = "a[i, indices[i]]",
       .inputs = {"a", "indices"},
       .compose = batch_take,
       .gradient = batch_take_gradient},
      {.name = "gather_nd",
       .aliases = {"_npi_gather_nd", "_npx_gather_nd"},
       .summary = "Gathers slices by index vectors: data[indices[0], indices[1], ...].",
       .inputs = {"data", "indices"},
       .compose = gather_nd},
      {.name = "scatter_nd",
       .summary = "Scatters slices into zeros by index vectors; of equal vectors the last wins.",
       .inputs = {"data", "indices"},
       .attrs = {required("shape", AttrKind::tuple)},
       .compose = scatter_nd},
      {.name = "_scatter_set_nd",
       .summary = "lhs with the slices at index vectors replaced by rhs.",
       .inputs = {"lhs", "rhs", "indices"},
       .attrs = {required("shape", AttrKind::tuple)},
       .compose = scatter_set_nd},
      {.name = "_ravel_multi_index",
       .aliases = {"ravel_multi_index"},
       .summary = "The linear index of index vectors, given by column, into an array of a shape.",
       .inputs = {"data"},
       .attrs = {required("shape", AttrKind::tuple)},
       .compose = ravel,
       .gradient = zero_gradient},
      {.name = "_unravel_index",
       .aliases = {"unravel_index"},
       .summary = "The index vectors, by column, of linear indices into an array of a shape.",
       .inputs = {"data"},
       .attrs = {required("shape", AttrKind::tuple)},
       .compose = unravel,
       .gradient = zero_gradient},
      {.name = "_contrib_index_copy",
       .summary = "A copy with some rows replaced.",
       .inputs = {"old_tensor", "index_vector", "new_tensor"},
       .compose = index_copy},
  };
  return rows;
}

}  // namespace kiln::ops
