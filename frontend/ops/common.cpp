// Helpers of several families of operators.
#include "frontend/ops/common.h"

#include "runtime/dtype_table.h"

#include <algorithm>

namespace kiln::ops {

Value widen(Primitives& p, Value x) { return convert(p, x, wide_dtype(p.dtype(x))); }

Value widen_factor(Primitives& p, Value x) {
  return p.dtype(x) == DType::boolean ? convert(p, x, DType::i64) : widen(p, x);
}

Value convert(Primitives& p, Value x, DType to) { return p.dtype(x) == to ? x : p.cast(x, to); }

Value sigmoid(Primitives& p, Value narrow) {
  const Value x = widen(p, narrow);
  // By e^-|x|, which cannot overflow and allows the shorter exp_nonpositive.
  Value one = p.like(x, 1), negative = p.compare(Compare::lt, x, p.like(x, 0));
  Value e = p.unary(Unary::exp_nonpositive, p.unary(Unary::neg, p.unary(Unary::abs, x)));
  return convert(p, p.div(p.select(negative, e, one), p.add(one, e)), p.dtype(narrow));
}

Value softsign(Primitives& p, Value narrow) {
  const Value x = widen(p, narrow);
  return convert(p, p.div(x, p.add(p.like(x, 1), p.unary(Unary::abs, x))), p.dtype(narrow));
}

Value drawn_mask(Primitives& p, const Shape& shape, double rate, const Shape& axes) {
  Shape mask_shape = shape;
  for (std::int64_t axis : axes) mask_shape[at(axis_of(axis, shape.rank()))] = 1;
  Value drawn = p.random_uniform(mask_shape);
  return p.broadcast_to(p.compare(Compare::lt, drawn, p.like(drawn, 1 - rate)), shape);
}

Value drop_others(Primitives& p, Value x, Value kept, double rate) {
  const double keep = 1 - rate;
  Value wide = widen(p, x);
  Value scaled = p.mul(wide, p.like(wide, keep > 0 ? 1 / keep : 0));
  return convert(p, p.select(kept, scaled, p.like(wide, 0)), p.dtype(x));
}

Value drop(Primitives& p, Value x, double rate, const Shape& axes) {
  return drop_others(p, x, drawn_mask(p, p.shape(x), rate, axes), rate);
}

Shape wanted_shape(const Primitives& p, const Attrs& a, std::string_view attr) {
  const Shape shape = a.is_none(attr) ? Shape{} : a.tuple(attr);
  for (std::int64_t d : shape)
    if (d < 0) fail("an array cannot have the shape {}", shape.str());
  return shape.empty() && !p.np_shape() ? Shape{1} : shape;
}

int axis_of(std::int64_t axis, int rank) {
  if (rank == 0) fail(Mistake::no_axis, "axis {} does not exist: a scalar has no axes", axis);
  if (axis < -rank || axis >= rank)
    fail(
        Mistake::no_axis,
        "axis {} does not exist in an array of {} axes: they are numbered from 0 to {}, or from the end from "
        "-1 to {}",
        axis, rank, rank - 1, -rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int new_axis_of(std::int64_t axis, int rank) {
  if (axis < -rank - 1 || axis > rank)
    fail(Mistake::no_axis,
         "there is no place for a new axis {}: the array has {}, so a new one is from 0 to {}, or from the "
         "end from -1 to {}",
         axis, rank == 1 ? "1 axis" : fmt::format("{} axes", rank), rank, -rank - 1);
  return static_cast<int>(axis < 0 ? axis + rank + 1 : axis);
}

Shape axes_of(const Shape& axes, int rank) {
  std::vector<std::int64_t> sorted;
  for (std::int64_t a : axes) sorted.push_back(axis_of(a, rank));
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail("axes {} name one axis twice", axes.str());
  return Shape(std::span<const std::int64_t>(sorted));
}

Shape other_axes(const Shape& axes, int rank) {
  Shape others;
  for (int i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) others.push_back(i);
  return others;
}

Value at_least_1d(Primitives& p, Value x) { return p.shape(x).rank() == 0 ? p.reshape(x, {1}) : x; }

Value scalar_or_1d(Primitives& p, Value x) { return p.np_shape() ? x : at_least_1d(p, x); }

Value widened_for_scalar(Primitives& p, Value x, const Attrs& a) {
  if (is_floating(p.dtype(x))) return x;
  if (!a.boolean("is_int")) return convert(p, x, DType::f64);
  return p.dtype(x) == DType::boolean ? convert(p, x, DType::i64) : x;
}

std::pair<Value, Value> broadcast_pair(Primitives& p, Value a, Value b) {
  Shape to = ir::broadcast_shapes(p.shape(a), p.shape(b));
  return {p.broadcast_to(a, to), p.broadcast_to(b, to)};
}

Value over_sum(Primitives& p, Value e, const Shape& axes) {
  const Shape shape = p.shape(e);
  Value sum = p.reduce(Reduce::sum, e, axes);
  Value factor = p.div(p.like(sum, 1), sum);
  return p.mul(e, p.broadcast_to(p.keep_dims(factor, shape, axes), shape));
}

Value below_largest(Primitives& p, Value x, const Shape& axes) {
  const Shape shape = p.shape(x);
  return p.sub(x, p.broadcast_to(p.keep_dims(p.reduce(Reduce::max_nnan, x, axes), shape, axes), shape));
}

Value softmax_over(Primitives& p, Value x, const Shape& axes) {
  return over_sum(p, p.unary(Unary::exp_nonpositive, below_largest(p, x, axes)), axes);
}

Value clipped_indices(Primitives& p, Value indices, std::int64_t extent) {
  return p.check_indices() ? p.check_bounds(indices, extent) : indices;
}

void require_one_dtype(Primitives& p, Value a, Value b, std::string_view what) {
  if (p.dtype(a) != p.dtype(b))
    fail(Mistake::two_dtypes,
         "{} takes arrays of one dtype, got {} and {}: convert one of them (astype, Cast; a network: cast)",
         what, name_of(p.dtype(a)), name_of(p.dtype(b)));
}
void require_one_dtype(Primitives& p, Args inputs, std::string_view what) {
  for (const Value v : inputs) require_one_dtype(p, inputs[0], v, what);
}
std::size_t inputs_with_bias(const Attrs& a) { return a.boolean("no_bias") ? 2 : 3; }
std::int64_t count_of(const Attrs& a, std::string_view name) {
  const std::int64_t count = a.integer(name);
  if (count < 1) fail("{} must be 1 or more, not {}", name, count);
  return count;
}

AttrSpec meaning(AttrSpec spec, std::string_view sentence) {
  spec.meaning = sentence;
  return spec;
}
AttrSpec real_attr(std::string_view name, double fallback, std::string_view sentence) {
  return meaning({name, AttrKind::real, fallback}, sentence);
}
AttrSpec int_attr(std::string_view name, std::int64_t fallback, std::string_view sentence) {
  return meaning({name, AttrKind::integer, fallback}, sentence);
}
AttrSpec bool_attr(std::string_view name, bool fallback, std::string_view sentence) {
  return meaning({name, AttrKind::boolean, fallback}, sentence);
}
AttrSpec tuple_attr(std::string_view name, std::string_view sentence) {
  return meaning({name, AttrKind::tuple, Shape{}}, sentence);
}
AttrSpec or_none(std::string_view name, AttrKind kind, std::string_view sentence) {
  return meaning({name, kind, None{}, true}, sentence);
}
AttrSpec tuple_or_none(std::string_view name, std::string_view sentence) {
  return or_none(name, AttrKind::tuple, sentence);
}
AttrSpec required(std::string_view name, AttrKind kind, std::string_view sentence) {
  return meaning({name, kind, std::nullopt}, sentence);
}
AttrSpec word_attr(std::string_view name, std::string fallback, std::vector<std::string_view> words,
                   std::string_view sentence) {
  return meaning({name, AttrKind::word, std::move(fallback), false, std::move(words)}, sentence);
}
AttrSpec dtype_attr(std::string fallback) {
  return meaning({"dtype", AttrKind::dtype, std::move(fallback)}, "The result's dtype.");
}
AttrSpec dtype_or_none() {
  return or_none("dtype", AttrKind::dtype, "The result's dtype; None: the input's.");
}
AttrSpec ignored(AttrSpec spec, std::string_view reason) {
  spec.ignored = reason;
  return spec;
}
AttrSpec of_gradient(AttrSpec spec) { return ignored(std::move(spec), "only the gradient depends on it"); }
AttrSpec library_hint(AttrSpec spec) {
  return ignored(std::move(spec), "it selects an algorithm in MXNet's libraries");
}
AttrSpec context_attr() {
  return ignored(meaning({"ctx", AttrKind::text, std::string()}, "The device of the result."),
                 "Kiln computes where the call runs");
}

}  // namespace kiln::ops
