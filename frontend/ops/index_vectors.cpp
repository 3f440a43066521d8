// Operators that read or write slices at index vectors, and the linear indices of those.
#include "frontend/ops/common.h"

namespace kiln::ops {
namespace {

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

std::span<const OpDef> nd_index_ops() {
  static const std::vector<OpDef> rows{
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
