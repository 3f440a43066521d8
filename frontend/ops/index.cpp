// Operators that read elements or slices at indices along an axis.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reference.h"
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
    fail(Mistake::operand_shape, "pick along axis {} of {} needs an index of the shape {} or {}, got {}",
         r.axis, r.shape.str(), (places.empty() ? Shape{1} : places).str(), kept.str(), index.str());
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
    fail(Mistake::operand_shape, "batch_take needs (n, k) and n indices, got {} and {}", s.str(),
         p.shape(in[1]).str());
  const Value index = clipped_indices(p, convert(p, in[1], DType::i64), s[1]);
  const Value y = pick_along(p, in[0], p.reshape(index, {s[0]}), 1);
  return {p.reshape(y, p.shape(in[1]))};
}
Values batch_take_gradient(Primitives& p, const GradientArgs& args) {
  const Shape shape = p.shape(args.in[0]);
  const Value index = p.reshape(convert(p, args.in[1], DType::i64), {shape[0]});
  return {pick_gradient(p, shape, index, 1, p.reshape(args.heads[0], {shape[0]})), {}};
}

/// Elements read at indices of any dtype.
constexpr OpReference index_reference =
    layout_reference |
    OpReference{.dtypes = "Any, data and index independently; the result has the dtype of data.",
                .nan =
                    "In data: copied. As an index, as an infinity: the least int64. clip takes element 0, "
                    "wrap element -2^63 mod D.",
                .integers = "Copied exactly. Indices are truncated towards zero to int64."};

AttrSpec mode_attr(std::vector<std::string_view> words, std::string_view sentence) {
  return word_attr("mode", "clip", std::move(words), sentence);
}

}  // namespace

std::span<const OpDef> index_ops() {
  static const std::vector<OpDef> rows{
      {.name = "take",
       .aliases = {"_npi_take"},
       .summary = "Gathers slices along an axis at indices.",
       .reference =
           index_reference |
           OpReference{
               .shapes = "a (p..., D, q...), D along axis, indices (i...) -> (p..., i..., q...)",
               .dtypes = "Any, a and indices independently; the result has the dtype of a.",
               .nan = "In a: copied. As an index, as an infinity: the least int64. clip takes slice 0, wrap "
                      "slice -2^63 mod D; raise throws.",
               .empty = "Without indices the result has no elements. An index into an empty axis throws.",
               .gradient = "a: the sum of g over all indices that select a slice, added in their C order, "
                           "half precision in float32. indices: zeros.",
               .formula = "y[p..., i..., q...] = a[p..., indices[i...], q...].",
               .source = index_op_source},
       .inputs = {"a", "indices"},
       .attrs = {int_attr("axis", 0, "The axis of a; negative: from the end."),
                 mode_attr({"clip", "raise", "wrap"},
                           "An index outside of [0, D): clip takes the nearest, or throws under "
                           "Check::indices; wrap takes it modulo D; raise throws, for a negative one too.")},
       .compose = take,
       .shape_rule = take_shape},
      {.name = "one_hot",
       .aliases = {"_npx_one_hot"},
       .summary = "Encodes indices as vectors: on_value at the index, off_value elsewhere.",
       .reference = {.shapes = "indices (...) -> (..., depth)",
                     .dtypes = "Any; the result has the attribute dtype.",
                     .nan = "A vector of off_value.",
                     .empty = "No indices, or depth 0, give no elements.",
                     .integers = "Indices are truncated towards zero to int64; on_value and off_value are "
                                 "converted to the attribute dtype.",
                     .gradient = "None: zeros.",
                     .formula = "y[..., k] = on_value if indices[...] = k, else off_value; an index outside "
                                "of [0, depth) gives off_value alone.",
                     .source = index_op_source},
       .inputs = {"indices"},
       .attrs = {required("depth", AttrKind::integer, "The length of the vectors, 0 or more."),
                 real_attr("on_value", 1, "The number at the index."),
                 real_attr("off_value", 0, "The number elsewhere."), dtype_attr("float32")},
       .compose = one_hot,
       .shape_rule = one_hot_shape},
      {.name = "pick",
       .aliases = {"_npx_pick", "choose_element_0index"},
       .summary = "Picks one element along an axis for each index.",
       .reference =
           index_reference |
           OpReference{.shapes = "data (p..., D, q...), D along axis, index (p..., q...) or (p..., 1, q...) "
                                 "-> (p..., q...), (1) instead of (), in numpy mode too; with keepdims "
                                 "(p..., 1, q...). For a vector index has any shape of one element",
                       .empty = "-inf, or 0 for integers, along an empty axis.",
                       .gradient = "data: g where an element is picked, zeros elsewhere. index: zeros.",
                       .formula = "y[p..., q...] = data[p..., index[p..., q...], q...].",
                       .source = "MXNet 1.9.1 (src/operator/tensor/broadcast_reduce_op_index.cc)."},
       .inputs = {"data", "index"},
       .attrs = {meaning({"axis", AttrKind::integer, std::int64_t{-1}, true},
                         "The axis; negative: from the end. In symbol files None: data is a vector in C "
                         "order, with one "
                         "index."),
                 bool_attr("keepdims", false, "Whether the axis is kept, with extent 1."),
                 mode_attr({"clip", "wrap"},
                           "An index outside of [0, D): clip takes the nearest, or throws under "
                           "Check::indices; wrap takes it modulo D.")},
       .compose = pick,
       .gradient = pick_gradient},
      {.name = "batch_take",
       .summary = "Picks one element from each row of a matrix.",
       .reference =
           index_reference |
           OpReference{.shapes = "a (N, D), indices (...) of N elements -> (...)",
                       .dtypes = "Any, a and indices independently; the result has the dtype of a.",
                       .nan = "In a: copied. As an index, as an infinity: element 0 of the row.",
                       .empty = "-inf, or 0 for integers, if D is 0.",
                       .gradient = "a: g where an element is picked, zeros elsewhere. indices: zeros.",
                       .formula = "y[i] = a[i, indices[i]], i counted in C order; an index outside of [0, D) "
                                  "takes the nearest, or throws under Check::indices.",
                       .source = index_op_source},
       .inputs = {"a", "indices"},
       .compose = batch_take,
       .gradient = batch_take_gradient},
  };
  return rows;
}

}  // namespace kiln::ops
