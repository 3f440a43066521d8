// numpy mode's reductions.
#include "frontend/ops/numpy.h"
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reduce.h"
#include "frontend/ops/shape_rules.h"
#include "runtime/dtype_table.h"

namespace kiln::ops {
namespace {

/// The reduction over `axes`, which are kept with extent 1 or removed; without axes left it is a scalar.
Value reduce(Primitives& p, Reduce op, Value x, const Shape& axes, bool keep) {
  Value r = p.reduce(op, x, axes);
  return keep ? p.keep_dims(r, p.shape(x), axes) : r;
}

/// x in the dtype for computing a result of dtype `to`: for floats the wider of both, float32 for half
/// precision.
Value prepared(Primitives& p, Value x, DType to) {
  const DType from = p.dtype(x);
  return widen(p, convert(p, x, is_floating(from) && is_floating(to) ? promoted(from, to) : to));
}

/// Includes `initial` as one more element.
Value with_initial(Primitives& p, Value x, Binary op, const Attrs& a) {
  return a.is_none("initial") ? x : p.binary(op, x, p.like(x, a.real("initial")));
}

template <Reduce op>
Values accumulate(Primitives& p, Args in, const Attrs& a) {
  const DType from = p.dtype(in[0]);
  const DType to = !a.is_none("dtype") ? a.dtype("dtype") : from == DType::boolean ? DType::i64 : from;
  Value x;
  if (to == DType::boolean)  // whether any, or all, elements are not 0
    x = p.cast(convert(p, in[0], to), DType::i64);
  else if (is_floating(from) && !is_floating(to))  // as in MXNet the sum is truncated, not the elements
    x = widen(p, in[0]);
  else
    x = prepared(p, in[0], to);
  Value r = reduce(p, op, x, numpy_axes(a, p.shape(x).rank()), a.boolean("keepdims"));
  return {convert(p, with_initial(p, r, op == Reduce::sum ? Binary::add : Binary::mul, a), to)};
}

template <Reduce op>
Values extreme(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]), axes = numpy_axes(a, shape.rank());
  if (count_along(shape, axes) == 0 && a.is_none("initial"))
    fail("{} has no elements along the axes {}, hence no {}", shape.str(), axes.str(),
         op == Reduce::max ? "maximum" : "minimum");
  Value r = reduce(p, op, in[0], axes, a.boolean("keepdims"));
  return {with_initial(p, r, op == Reduce::max ? Binary::max : Binary::min, a)};
}

Value divided(Primitives& p, Value sum, std::int64_t count) {
  return p.div(sum, p.like(sum, static_cast<double>(count)));
}

Values mean(Primitives& p, Args in, const Attrs& a) {
  const DType from = p.dtype(in[0]), to = !a.is_none("dtype") ? a.dtype("dtype")
                                          : is_floating(from) ? from
                                                              : DType::f32;
  Value x = is_floating(from) && is_floating(to) ? prepared(p, in[0], to) : convert(p, in[0], DType::f64);
  const Shape axes = numpy_axes(a, p.shape(x).rank());
  Value sum = with_initial(p, reduce(p, Reduce::sum, x, axes, a.boolean("keepdims")), Binary::add, a);
  return {convert(p, divided(p, sum, count_along(p.shape(x), axes)), to)};
}

/// The variance and the mean. As in MXNet, integers stay integers: the mean is truncated before the
/// subtraction, and the variance at the end if the result is an integer.
template <bool root>
Values variance(Primitives& p, Args in, const Attrs& a) {
  const DType from = p.dtype(in[0]), to = a.is_none("dtype") ? from : a.dtype("dtype");
  const bool whole = !is_floating(from);
  if (from == DType::boolean) fail("the variance of bools is undefined; convert them first");
  const Shape shape = p.shape(in[0]), axes = numpy_axes(a, shape.rank());
  const bool keep = a.boolean("keepdims");
  const std::int64_t count = count_along(shape, axes);
  Value x = widen(p, in[0]), middle, sum;
  if (whole) {
    const auto total = [&](Value v) { return p.reduce(Reduce::sum, convert(p, v, DType::f64), axes); };
    middle = convert(p, divided(p, total(x), count), from);
    const Value away = p.sub(x, spread(p, middle, shape, axes));
    sum = total(p.mul(away, away));
  } else {
    middle = mean_over(p, x, axes);
    sum = p.reduce(Reduce::sum_squares, p.sub(x, spread(p, middle, shape, axes)), axes);
  }
  Value r = divided(p, sum, count - a.integer("ddof"));
  if (root) r = p.unary(Unary::sqrt, whole && !is_floating(to) ? p.unary(Unary::trunc, r) : r);
  const auto shaped = [&](Value v) { return keep ? p.keep_dims(v, shape, axes) : v; };
  return {convert(p, shaped(r), to), convert(p, shaped(middle), from)};
}

/// The gradient of the deviation is the gradient of the variance over twice the deviation; 0 where the
/// deviation is 0.
template <bool root>
Values variance_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]);
  const Shape shape = p.shape(x), axes = numpy_axes(args.attrs, shape.rank());
  const std::int64_t count = count_along(shape, axes) - args.attrs.integer("ddof");
  Value g = head_of(p, args, 0, x);
  if (!g.valid()) return Values(1);
  if (root) {
    const Statistics s = statistics(p, x, axes);
    const Value sum = p.mul(s.variance, p.like(s.variance, static_cast<double>(count_along(shape, axes))));
    const Value is_zero = p.compare(Compare::eq, sum, p.like(sum, 0));
    const Value safe = p.div(p.select(is_zero, p.like(sum, 1), sum), p.like(sum, static_cast<double>(count)));
    const Value twice = p.mul(p.unary(Unary::sqrt, safe), p.like(safe, 2));
    g = p.div(p.reshape(g, p.shape(twice)), twice);
  }
  return {convert(p, ops::variance_gradient(p, x, axes, g, count), p.dtype(args.in[0]))};
}

template <Reduce op>
Values arg_reduce(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  const bool keep = a.boolean("keepdims"), all = a.is_none("axis") || shape.empty();
  Value x = all ? p.reshape(in[0], {shape.elements()}) : in[0];
  if (!a.is_none("axis") && shape.empty()) axis_of(a.integer("axis"), 1);
  const int axis = all ? 0 : axis_of(a.integer("axis"), shape.rank());
  if (p.shape(x)[at(axis)] == 0)
    fail("{} has no elements along axis {}, hence no {}", shape.str(), axis,
         op == Reduce::max ? "maximum" : "minimum");
  Value place = arg_extreme(p, x, axis, op, DType::i64);
  if (all) return {keep ? p.reshape(place, Shape::filled(shape.rank(), 1)) : place};
  return {keep ? p.keep_dims(place, shape, {axis}) : place};
}

void reduction_shape(ShapeFacts& f, const Attrs& a) {
  if (f.in[0].ranked)
    reduced(f, f.in[0], f.out[0], numpy_axes(a, f.in[0].extents.rank()), a.boolean("keepdims"), false);
}

OpDef define(std::string_view name, std::string_view summary,
             Values (*compose)(Primitives&, Args, const Attrs&), std::vector<AttrSpec> attrs,
             std::vector<std::string_view> aliases = {}) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .inputs = {"a"},
          .attrs = std::move(attrs),
          .compose = compose,
          .shape_rule = reduction_shape};
}

}  // namespace

std::span<const OpDef> numpy_reduce_ops() {
  static const AttrSpec initial = or_none("initial", AttrKind::real);
  static const std::vector<AttrSpec> plain{tuple_or_none("axis"), bool_attr("keepdims", false), initial};
  static const std::vector<AttrSpec> typed{tuple_or_none("axis"), dtype_or_none(),
                                           bool_attr("keepdims", false), initial};
  static const std::vector<AttrSpec> moment{tuple_or_none("axis"), dtype_or_none(), int_attr("ddof", 0),
                                            bool_attr("keepdims", false)};
  static const std::vector<AttrSpec> place{or_none("axis", AttrKind::integer), bool_attr("keepdims", false)};
  static const std::vector<OpDef> rows = [] {
    std::vector<OpDef> all{
        define("_np_sum", "The sum over axes.", accumulate<Reduce::sum>, typed),
        define("_np_prod", "The product over axes.", accumulate<Reduce::prod>, typed, {"_np_product"}),
        define("_np_max", "The maximum over axes; NaN propagates.", extreme<Reduce::max>, plain,
               {"_np_amax"}),
        define("_np_min", "The minimum over axes; NaN propagates.", extreme<Reduce::min>, plain,
               {"_np_amin"}),
        define("_npi_mean", "The mean over axes; of integers in float32.", mean, typed),
        define("_npi_var", "The variance over axes.", variance<false>, moment),
        define("_npi_std", "The standard deviation over axes.", variance<true>, moment),
        define("_npi_argmax", "The index of the maximum, int64.", arg_reduce<Reduce::max>, place),
        define("_npi_argmin", "The index of the minimum, int64.", arg_reduce<Reduce::min>, place),
    };
    for (OpDef& op : all) {
      if (op.name == "_npi_argmax" || op.name == "_npi_argmin") {
        op.inputs = {"data"};
        op.shape_rule = nullptr;
      }
      if (op.name != "_npi_var" && op.name != "_npi_std") continue;
      op.counted_outputs = outputs<2>;
      op.output_names = {op.name.substr(5), "mean"};
      op.gradient = op.name == "_npi_std" ? variance_gradient<true> : variance_gradient<false>;
    }
    return all;
  }();
  return rows;
}

}  // namespace kiln::ops
