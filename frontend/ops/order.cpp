// Sorting, top-k, and cumulative sums.
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

/// An array with the sorted axis moved to the end. With axis None it is flat.
struct Rows {
  Value x;
  Shape shape;  // the original shape; flat for None
  int axis;
  std::int64_t extent() const { return shape[at(axis)]; }
};

Rows rows_of(Primitives& p, Value x, const Attrs& a) {
  if (a.is_none("axis")) x = p.reshape(x, {p.shape(x).elements()});
  const Shape shape = p.shape(x);
  const int axis = a.is_none("axis") ? 0 : axis_of(a.integer("axis"), shape.rank());
  Shape order = other_axes({axis}, shape.rank());
  order.push_back(axis);
  return {p.transpose(x, order), shape, axis};
}

/// Moves the sorted axis back.
Value in_place(Primitives& p, const Rows& rows, Value x) {
  Shape order;
  for (int i = 0; i < rows.shape.rank(); ++i)
    order.push_back(i < rows.axis ? i : i == rows.axis ? rows.shape.rank() - 1 : i - 1);
  return p.transpose(x, order);
}

Values sort(Primitives& p, Args in, const Attrs& a) {
  Rows rows = rows_of(p, in[0], a);
  // MXNet counts a hidden second output, the indices.
  return {in_place(p, rows, p.gather_last(rows.x, p.sort(rows.x, !a.boolean("is_ascend")))), Value{}};
}
/// The output has the input's shape, except that None gives a vector.
void ordered_shape(ShapeFacts& f, const Attrs& a) {
  if (!a.is_none("axis")) f.same(f.in[0], f.out[0]);
}
Values argsort(Primitives& p, Args in, const Attrs& a) {
  Rows rows = rows_of(p, in[0], a);
  return {convert(p, in_place(p, rows, p.sort(rows.x, !a.boolean("is_ascend"))), a.dtype("dtype"))};
}

/// 1 for elements selected by `order`, else 0.
Value mask_of(Primitives& p, const Rows& rows, Value order) {
  const TensorType type = p.type(rows.x);
  const std::int64_t k = p.shape(order)[at(p.shape(order).rank() - 1)];
  const std::int64_t count = type.shape.elements() / std::max<std::int64_t>(1, rows.extent());
  const TensorType table{DType::i64, {count, k}};
  Value place =
      p.add(p.mul(p.iota(table, 0), p.full_integer(table, rows.extent())), p.reshape(order, table.shape));
  Value none = p.full({type.dtype, {type.shape.elements()}}, 0), ones = p.full({type.dtype, table.shape}, 1);
  return p.reshape(p.scatter(ir::Scatter::replace, none, place, ones, 0), type.shape);
}

Values topk(Primitives& p, Args in, const Attrs& a) {
  Rows rows = rows_of(p, in[0], a);
  const std::int64_t k = a.integer("k") < 1 ? rows.extent() : a.integer("k");
  if (k > rows.extent())
    fail("topk cannot choose {} of the {} elements along axis {} of {}", k, rows.extent(), rows.axis,
         p.shape(in[0]).str());
  const Shape shape = p.shape(rows.x);
  Shape limit = shape;
  limit[at(limit.rank() - 1)] = k;
  Value order = p.slice(p.sort(rows.x, !a.boolean("is_ascend")), Shape::filled(shape.rank(), 0), limit,
                        Shape::filled(shape.rank(), 1));
  const std::string& wanted = a.word("ret_typ");
  if (wanted == "mask") return {p.reshape(in_place(p, rows, mask_of(p, rows, order)), p.shape(in[0]))};
  Value indices = convert(p, in_place(p, rows, order), a.dtype("dtype"));
  if (wanted == "indices") return {indices};
  return {in_place(p, rows, p.gather_last(rows.x, order)), indices};
}
// The indices are a hidden output.
int topk_outputs(const Attrs& a) {
  return a.word("ret_typ") == "both" || a.word("ret_typ") == "value" ? 2 : 1;
}
int topk_visible(const Attrs& a) { return a.word("ret_typ") == "both" ? 2 : 1; }

Values cumsum(Primitives& p, Args in, const Attrs& a) {
  Value x = a.is_none("axis") ? p.reshape(in[0], {p.shape(in[0]).elements()}) : in[0];
  // Bools are counted, as by sum.
  const DType from = p.dtype(x), kept = from == DType::boolean ? DType::i64 : from;
  x = convert(p, x, a.is_none("dtype") ? kept : a.dtype("dtype"));
  const int axis = a.is_none("axis") ? 0 : axis_of(a.integer("axis"), p.shape(x).rank());
  return {p.cumulative(Reduce::sum, x, axis)};
}

AttrSpec axis_or_none(ir::AttrValue fallback) {
  return meaning({"axis", AttrKind::integer, std::move(fallback), true},
                 "The axis; negative: from the end. None: the elements in C order, as a vector.");
}
AttrSpec ascending(bool fallback) {
  return bool_attr("is_ascend", fallback, "Whether the least element is first, else the greatest.");
}
AttrSpec index_dtype() {
  return meaning(dtype_attr("float32"),
                 "The dtype of the indices, which are converted as by Cast: float32 holds all up to 2^24.");
}

/// The order of the elements along an axis.
constexpr OpReference order_reference{
    .dtypes = "Any; the result has the dtype of data.",
    .nan = "Last in both directions, after the infinities; NaNs keep their order.",
    .ties = "Equal elements, -0 and 0 among them, keep the order of their positions in both directions.",
    .empty = "An array without elements gives one without elements.",
    .integers = "Compared and copied exactly.",
    .source = "MXNet 1.9.1 (src/operator/tensor/ordering_op.cc). Kiln fixes the order of ties and of NaN.",
};

}  // namespace

std::span<const OpDef> order_ops() {
  static const std::vector<OpDef> rows{
      {.name = "sort",
       .aliases = {"_npi_sort"},
       .summary = "Sorts the elements along an axis; NaN last.",
       .reference = order_reference |
                    OpReference{.shapes = "data (...) -> (...); with axis None (N), N the number of "
                                          "elements. Rank 0 throws for another axis",
                                .gradient = "data: each element of g at the position its element came from.",
                                .formula = "y[..., i, ...] = data[..., argsort(data)[..., i, ...], ...]."},
       .inputs = {"data"},
       .attrs = {axis_or_none(std::int64_t{-1}), ascending(true)},
       .counted_outputs = outputs<2>,
       .compose = sort,
       .shape_rule = ordered_shape},
      {.name = "argsort",
       .aliases = {"_npi_argsort"},
       .summary = "Gives the indices that sort an axis; the sort is stable, NaN last.",
       .reference =
           order_reference | OpReference{.shapes = "data (...) -> (...); with axis None (N), N the number of "
                                                   "elements. Rank 0 throws for another axis",
                                         .dtypes = "Any; the result has the attribute dtype.",
                                         .integers = "Compared exactly.",
                                         .gradient = "None: zeros.",
                                         .formula = "y[..., i, ...] = the position along the axis of the "
                                                    "element that is number i in sorted order."},
       .inputs = {"data"},
       .attrs = {axis_or_none(std::int64_t{-1}), ascending(true), index_dtype()},
       .compose = argsort,
       .shape_rule = ordered_shape},
      {.name = "topk",
       .aliases = {"_npx_topk"},
       .summary =
           "Gives the k largest or smallest elements along an axis: their indices, values, both, or a mask.",
       .reference =
           order_reference |
           OpReference{.shapes = "data (a..., D, b...), D along axis -> (a..., k, b...); both: values, then "
                                 "indices. With axis None (k). A mask has the shape of data",
                       .dtypes = "Any; values and mask have the dtype of data, indices the attribute dtype.",
                       .empty = "k above the extent throws, and thus k = 1 for an empty axis; k = 0 chooses "
                                "all of no elements.",
                       .gradient = "data: g of the values at the positions they came from, zeros elsewhere; "
                                   "zeros for indices and mask.",
                       .formula = "The first k elements of sort and argsort, in their order; mask: 1 where "
                                  "an element is among them, else 0."},
       .inputs = {"data"},
       .attrs = {axis_or_none(std::int64_t{-1}),
                 int_attr("k", 1, "The number of elements, at most the extent; below 1: all."),
                 word_attr("ret_typ", "indices", {"both", "indices", "mask", "value"},
                           "The results: values and indices, indices, a mask, or values."),
                 ascending(false), index_dtype()},
       .counted_outputs = topk_outputs,
       .visible_outputs = topk_visible,
       .compose = topk},
      {.name = "_np_cumsum",
       .aliases = {"cumsum"},
       .summary = "Gives the cumulative sum along an axis, added in the order of the axis.",
       .reference = {.shapes = "a (...) -> (...); with axis None (N), N the number of elements",
                     .dtypes = "Any; the result has the dtype of a, int64 for bool, or the attribute dtype.",
                     .nan = "NaN from its position on, along the axis.",
                     .empty = "An array without elements gives one without elements.",
                     .integers = "Sums wrap modulo 2^n of the result's dtype. Elements are converted to the "
                                 "dtype of the result before they are added.",
                     .gradient =
                         "a: da[r] = g[r] + g[r + 1] + ..., added from the end, in the dtype of the result.",
                     .formula =
                         "y[r] = y[r - 1] + a[r], each sum rounded to the dtype of the result; y[0] = a[0].",
                     .source = "MXNet 1.9.1 (src/operator/numpy/np_cumsum.cc)."},
       .inputs = {"a"},
       .attrs = {axis_or_none(None{}),
                 meaning(dtype_or_none(), "The result's dtype; None: that of a, int64 for bool.")},
       .compose = cumsum,
       .shape_rule = ordered_shape},
  };
  return rows;
}

}  // namespace kiln::ops
