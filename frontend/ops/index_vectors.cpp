// Operators that read or write slices at index vectors, and the linear indices of those.
#include "frontend/ops/reference.h"

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

/// Slices at index vectors of any dtype.
constexpr OpReference vector_reference =
    layout_reference |
    OpReference{
        .nan = "In data: copied. As an index, as an infinity: the least int64, index -2^63 mod d.",
        .integers =
            "Copied exactly. Indices are truncated towards zero to int64, and count from the end if "
            "negative: they are taken modulo the extent. Under Check::indices one outside of [-d, d) throws.",
        .source = index_op_source};
/// Indices computed from indices.
constexpr OpReference computed_index_reference{.dtypes = "Any; the result has the dtype of data.",
                                               .nan = "As the least int64; so is an infinity.",
                                               .empty = "No indices give none.",
                                               .gradient = "None: zeros.",
                                               .source = "MXNet 1.9.1 (src/operator/tensor/ravel.cc)."};

AttrSpec extents_attr(std::string_view sentence) { return required("shape", AttrKind::tuple, sentence); }

}  // namespace

std::span<const OpDef> nd_index_ops() {
  static const std::vector<OpDef> rows{
      {.name = "gather_nd",
       .aliases = {"_npi_gather_nd", "_npx_gather_nd"},
       .summary = "Gathers slices at index vectors, which are the columns of indices.",
       .reference =
           vector_reference |
           OpReference{
               .shapes = "data (d1, ..., dM, q...), indices (M, i...) -> (i..., q...)",
               .dtypes = "Any, data and indices independently; the result has the dtype of data.",
               .empty =
                   "Without index vectors the result has no elements. An index into an empty axis throws.",
               .gradient = "data: the sum of g over all vectors that select a slice, added in their C order, "
                           "half precision in float32. indices: zeros.",
               .formula = "y[i..., q...] = data[indices[0, i...], ..., indices[M - 1, i...], q...]."},
       .inputs = {"data", "indices"},
       .compose = gather_nd},
      {.name = "scatter_nd",
       .summary = "Scatters slices into zeros at index vectors; of equal vectors the last wins.",
       .reference =
           vector_reference |
           OpReference{
               .shapes = "data (i..., q...), indices (M, i...) -> shape = (d1, ..., dM, q...)",
               .dtypes = "Any, data and indices independently; the result has the dtype of data.",
               .ties = "Of equal index vectors the last one in C order wins.",
               .empty = "Without index vectors the result is zeros. With an extent of 0 in shape it has no "
                        "elements.",
               .gradient = "data: g at the slice's index vector, zeros for a slice that a later one "
                           "replaced. indices: zeros.",
               .formula =
                   "y[indices[0, i...], ..., indices[M - 1, i...], q...] = data[i..., q...]; elsewhere 0."},
       .inputs = {"data", "indices"},
       .attrs = {extents_attr("The shape of the result.")},
       .compose = scatter_nd},
      {.name = "_scatter_set_nd",
       .summary =
           "Returns lhs with the slices at index vectors replaced by rhs; of equal vectors the last wins.",
       .reference =
           vector_reference |
           OpReference{
               .shapes =
                   "lhs (d1, ..., dM, q...), rhs (i..., q...), indices (M, i...) -> (d1, ..., dM, q...)",
               .dtypes = "Any, one for lhs and rhs, and any for indices; the result has the dtype of lhs.",
               .nan = "In lhs and rhs: copied. As an index, as an infinity: the least int64, index -2^63 mod "
                      "d.",
               .ties = "Of equal index vectors the last one in C order wins.",
               .empty = "Without index vectors the result is lhs.",
               .gradient = "lhs: g, zeros at the replaced slices. rhs: g at the slice's index vector, zeros "
                           "for a slice that a later one replaced. indices: zeros.",
               .formula = "y[indices[0, i...], ..., indices[M - 1, i...], q...] = rhs[i..., q...]; elsewhere "
                          "y = lhs."},
       .inputs = {"lhs", "rhs", "indices"},
       .attrs = {extents_attr("The shape of lhs.")},
       .compose = scatter_set_nd},
      {.name = "_ravel_multi_index",
       .aliases = {"ravel_multi_index"},
       .summary = "Gives the linear index of index vectors, the columns of data, into an array of a shape.",
       .reference =
           computed_index_reference |
           OpReference{
               .shapes = "data (M, N) -> (N); M is the rank of shape",
               .integers = "Computed in int64, which wraps, and converted to the dtype of data. Indices "
                           "outside of their extents enter as they are; under Check::indices they throw.",
               .formula = "y[n] = (...(data[0, n] d2 + data[1, n]) d3 + ...) dM + data[M - 1, n], shape = "
                          "(d1, ..., dM)."},
       .inputs = {"data"},
       .attrs = {extents_attr("The shape (d1, ..., dM) of the array that is indexed.")},
       .compose = ravel,
       .gradient = zero_gradient},
      {.name = "_unravel_index",
       .aliases = {"unravel_index"},
       .summary = "Gives the index vectors, as columns, of linear indices into an array of a shape.",
       .reference =
           computed_index_reference |
           OpReference{
               .shapes = "data (...) -> (M, ...); M is the rank of shape",
               .integers = "Computed in int64 and converted to the dtype of data. An index beyond the array "
                           "leaves its excess on the first axis; a negative one is taken modulo each extent "
                           "after the first, and the quotients are truncated towards zero.",
               .formula = "y[k, ...] = (data[...] / (d(k+1) ... dM)) mod dk for k > 1, and without mod for k "
                          "= 1; shape = (d1, ..., dM)."},
       .inputs = {"data"},
       .attrs = {extents_attr(
           "The shape (d1, ..., dM) of the array that is indexed; d2 to dM are 1 or more.")},
       .compose = unravel,
       .gradient = zero_gradient},
      {.name = "_contrib_index_copy",
       .summary = "Returns a copy of an array with some rows replaced; of equal indices the last wins.",
       .reference =
           layout_reference |
           OpReference{
               .shapes = "old_tensor (R, q...), index_vector (N), new_tensor (N, q...) -> (R, q...); N <= R",
               .dtypes = "Any, one for old_tensor and new_tensor, and any for index_vector; the result has "
                         "the dtype of old_tensor.",
               .nan = "In a row: copied. As an index: no row is replaced.",
               .ties = "Of equal indices the last one wins.",
               .empty = "Without indices the result is old_tensor.",
               .integers = "Copied exactly. Indices are truncated towards zero to int64.",
               .gradient = "old_tensor: g, zeros in replaced rows. new_tensor: row n of it is row "
                           "index_vector[n] of g, zeros where a later row replaced it or the index is out of "
                           "range. index_vector: zeros.",
               .formula = "y[index_vector[n], q...] = new_tensor[n, q...]; elsewhere y = old_tensor. An "
                          "index outside of [0, R) has no effect, or throws under Check::indices.",
               .source = "MXNet 1.9.1 (src/operator/contrib/index_copy.cc)."},
       .inputs = {"old_tensor", "index_vector", "new_tensor"},
       .compose = index_copy},
  };
  return rows;
}

}  // namespace kiln::ops
