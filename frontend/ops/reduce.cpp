// Reductions of MXNet's classic operators.
#include "frontend/ops/reduce.h"

#include "frontend/ops/own_gradient.h"
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {

namespace {

Shape named_axes(const Attrs& a, int rank, std::string_view name = "axis") {
  Shape axes = a.is_none(name) ? Shape{} : axes_of(a.tuple(name), rank);
  if (a.find("exclude") && a.boolean("exclude"))
    return axes.empty() ? other_axes(other_axes({}, rank), rank) : other_axes(axes, rank);
  return axes.empty() ? other_axes({}, rank) : axes;
}

template <char const* name>
void reduction_shape(ShapeFacts& f, const Attrs& a) {
  if (!f.in[0].ranked) return;
  const Shape axes = named_axes(a, f.in[0].extents.rank(), name);
  for (PartialShape& y : f.out) reduced(f, f.in[0], y, axes, a.boolean("keepdims"), true);
}
constexpr char axis_name[] = "axis", axes_name[] = "axes";

/// The reduction over `axes` with MXNet's shape: axes kept with extent 1 or removed, but never rank 0.
Value reduce(Primitives& p, Reduce op, Value x, const Shape& axes, bool keep) {
  Value r = p.reduce(op, x, axes);
  return keep ? p.keep_dims(r, p.shape(x), axes) : at_least_1d(p, r);
}
/// x with NaN replaced by `instead`.
Value without_nan(Primitives& p, Value x, double instead) {
  return is_floating(p.dtype(x)) ? p.select(p.compare(Compare::ne, x, x), p.like(x, instead), x) : x;
}

enum class NaN { counts, is_neutral };
template <Reduce op, NaN nan = NaN::counts>
Values plain(Primitives& p, Args in, const Attrs& a) {
  Value x = in[0];
  if (nan == NaN::is_neutral) x = without_nan(p, x, op == Reduce::prod ? 1 : 0);
  Value r = reduce(p, op, widen(p, x), named_axes(a, p.shape(x).rank()), a.boolean("keepdims"));
  return {convert(p, r, p.dtype(in[0]))};
}
Values mean(Primitives& p, Args in, const Attrs& a) {
  Value x = widen(p, in[0]);
  Shape axes = named_axes(a, p.shape(x).rank());
  Value sum = reduce(p, Reduce::sum, x, axes, a.boolean("keepdims"));
  return {convert(p, divided(p, sum, count_along(p.shape(x), axes)), p.dtype(in[0]))};
}
Values norm(Primitives& p, Args in, const Attrs& a) {
  std::int64_t order = a.integer("ord");
  if (order != 1 && order != 2) fail("norm supports the orders 1 and 2, not {}", order);
  Value x = widen(p, in[0]);
  Shape axes = named_axes(a, p.shape(x).rank());
  const bool keep = a.boolean("keepdims");
  Value r = order == 1 ? reduce(p, Reduce::sum, p.unary(Unary::abs, x), axes, keep)
                       : p.unary(Unary::sqrt, reduce(p, Reduce::sum_squares, x, axes, keep));
  return {convert(p, r, a.is_none("out_dtype") ? p.dtype(in[0]) : a.dtype("out_dtype"))};
}
Values moments(Primitives& p, Args in, const Attrs& a) {
  Value x = widen(p, in[0]);
  Shape axes = named_axes(a, p.shape(x).rank(), "axes"), shape = p.shape(x);
  bool keep = a.boolean("keepdims");
  Statistics s = statistics(p, x, axes, true);
  auto finish = [&](Value r) {
    return convert(p, keep ? p.keep_dims(r, shape, axes) : at_least_1d(p, r), p.dtype(in[0]));
  };
  return {finish(s.mean), finish(s.variance)};
}

/// sign(x), or x over the norm; 0 where the norm is 0.
Values norm_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]);
  const Shape shape = p.shape(x), axes = named_axes(args.attrs, shape.rank());
  const Value g = spread(p, head_of(p, args, 0, x), shape, axes);
  Value slope = p.unary(Unary::sign, x);
  if (args.attrs.integer("ord") == 2) {
    const Value sum = p.reduce(Reduce::sum_squares, x, axes);
    // Not the root of 0: its derivative is infinite.
    const Value safe = p.select(p.compare(Compare::eq, sum, p.like(sum, 0)), p.like(sum, 1), sum);
    slope = p.div(x, spread(p, p.unary(Unary::sqrt, safe), shape, axes));
  }
  return {convert(p, p.mul(g, slope), p.dtype(args.in[0]))};
}
Values moments_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]);
  const Shape shape = p.shape(x), axes = named_axes(args.attrs, shape.rank(), "axes");
  const std::int64_t n = count_along(shape, axes);
  const Value mean = head_of(p, args, 0, x), variance = head_of(p, args, 1, x);
  Value dx;
  if (variance.valid()) dx = variance_gradient(p, x, axes, variance, n);
  if (mean.valid()) {
    const Value share = spread(p, p.div(mean, p.like(mean, static_cast<double>(n))), shape, axes);
    dx = dx.valid() ? p.add(dx, share) : share;
  }
  return {convert(p, dx, p.dtype(args.in[0]))};
}

template <Reduce op>
Values arg_reduce(Primitives& p, Args in, const Attrs& a) {
  Value x = in[0];
  bool keep = a.boolean("keepdims");
  Shape shape = p.shape(x);
  if (a.is_none("axis")) {
    Value place = arg_extreme(p, p.reshape(x, {shape.elements()}), 0, op, p.dtype(x));
    return {p.reshape(place, keep ? Shape::filled(shape.rank(), 1) : Shape{1})};
  }
  int axis = axis_of(a.integer("axis"), shape.rank());
  Value place = arg_extreme(p, x, axis, op, p.dtype(x));
  return {keep ? p.keep_dims(place, shape, {axis}) : at_least_1d(p, place)};
}
void arg_shape(ShapeFacts& f, const Attrs& a) {
  if (!f.in[0].ranked) return;
  const int rank = f.in[0].extents.rank();
  const auto axis = a.is_none("axis") ? std::nullopt : axis_in(a.integer("axis"), rank);
  if (a.is_none("axis") || axis)
    reduced(f, f.in[0], f.out[0], axis ? Shape{*axis} : other_axes({}, rank), a.boolean("keepdims"), true);
}
Values argmax_channel(Primitives& p, Args in, const Attrs&) {
  if (p.shape(in[0]).rank() < 2) fail("argmax_channel needs two axes, got {}", p.shape(in[0]).str());
  return {arg_extreme(p, in[0], 1, Reduce::max, p.dtype(in[0]))};
}

/// A reduction over the attribute `axis`.
OpDef over_axes(std::string_view name, std::vector<std::string_view> aliases, std::string_view summary,
                Values (*compose)(Primitives&, Args, const Attrs&)) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .inputs = {"data"},
          .attrs = {tuple_or_none("axis"), bool_attr("keepdims", false), bool_attr("exclude", false)},
          .compose = compose,
          .shape_rule = reduction_shape<axis_name>};
}

}  // namespace

std::span<const OpDef> reduce_ops() {
  static const std::vector<std::string_view> one{"data"};
  static const std::vector<AttrSpec> place{or_none("axis", AttrKind::integer), bool_attr("keepdims", false)};
  static const std::vector<OpDef> rows{
      over_axes("sum", {"sum_axis"}, "The sum over axes.", plain<Reduce::sum>),
      over_axes("mean", {}, "The mean over axes.", mean),
      over_axes("prod", {}, "The product over axes.", plain<Reduce::prod>),
      over_axes("nansum", {}, "The sum over axes, NaN as 0.", plain<Reduce::sum, NaN::is_neutral>),
      over_axes("nanprod", {}, "The product over axes, NaN as 1.", plain<Reduce::prod, NaN::is_neutral>),
      over_axes("max", {"max_axis"}, "The maximum over axes; NaN propagates.", plain<Reduce::max>),
      over_axes("min", {"min_axis"}, "The minimum over axes; NaN propagates.", plain<Reduce::min>),
      {.name = "norm",
       .summary = "The 1-norm or 2-norm over axes.",
       .inputs = one,
       .attrs = {int_attr("ord", 2), tuple_or_none("axis"), or_none("out_dtype", AttrKind::dtype),
                 bool_attr("keepdims", false)},
       .compose = norm,
       .gradient = norm_gradient,
       .shape_rule = reduction_shape<axis_name>},
      {.name = "moments",
       .summary = "Mean and variance over axes.",
       .inputs = one,
       .attrs = {tuple_or_none("axes"), bool_attr("keepdims", false)},
       .counted_outputs = outputs<2>,
       .visible_outputs = outputs<2>,
       .compose = moments,
       .gradient = moments_gradient,
       .shape_rule = reduction_shape<axes_name>},
      {.name = "argmax",
       .summary = "The index of the maximum, in the dtype of data.",
       .inputs = one,
       .attrs = place,
       .compose = arg_reduce<Reduce::max>,
       .shape_rule = arg_shape},
      {.name = "argmin",
       .summary = "The index of the minimum, in the dtype of data.",
       .inputs = one,
       .attrs = place,
       .compose = arg_reduce<Reduce::min>,
       .shape_rule = arg_shape},
      {.name = "argmax_channel", .summary = "argmax over axis 1.", .inputs = one, .compose = argmax_channel},
  };
  return rows;
}

}  // namespace kiln::ops
