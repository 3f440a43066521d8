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
  return {"axis", AttrKind::integer, std::move(fallback), true};
}

}  // namespace

std::span<const OpDef> order_ops() {
  static const std::vector<OpDef> rows{
      {.name = "sort",
       .aliases = {"_npi_sort"},
       .summary = "Sorts along an axis; NaN last.",
       .inputs = {"data"},
       .attrs = {axis_or_none(std::int64_t{-1}), bool_attr("is_ascend", true)},
       .counted_outputs = outputs<2>,
       .compose = sort,
       .shape_rule = ordered_shape},
      {.name = "argsort",
       .aliases = {"_npi_argsort"},
       .summary = "The indices that sort an axis; stable, NaN last.",
       .inputs = {"data"},
       .attrs = {axis_or_none(std::int64_t{-1}), bool_attr("is_ascend", true), dtype_attr("float32")},
       .compose = argsort,
       .shape_rule = ordered_shape},
      {.name = "topk",
       .aliases = {"_npx_topk"},
       .summary = "The k largest or smallest along an axis: their indices, values, both, or a mask.",
       .inputs = {"data"},
       .attrs = {axis_or_none(std::int64_t{-1}), int_attr("k", 1),
                 word_attr("ret_typ", "indices", {"both", "indices", "mask", "value"}),
                 bool_attr("is_ascend", false), dtype_attr("float32")},
       .counted_outputs = topk_outputs,
       .visible_outputs = topk_visible,
       .compose = topk},
      {.name = "_np_cumsum",
       .aliases = {"cumsum"},
       .summary = "The cumulative sum along an axis, in the order of the axis.",
       .inputs = {"a"},
       .attrs = {axis_or_none(None{}), dtype_or_none()},
       .compose = cumsum,
       .shape_rule = ordered_shape},
  };
  return rows;
}

}  // namespace kiln::ops
