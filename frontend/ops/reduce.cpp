// Reductions of MXNet's classic operators.
#include "frontend/ops/reduce.h"

#include "frontend/ops/own_gradient.h"
#include "frontend/ops/shape_rules.h"

#include <limits>

namespace kiln::ops {

std::int64_t count_along(const Shape& shape, const Shape& axes) {
  std::int64_t n = 1;
  for (std::int64_t axis : axes) n = times(n, shape[static_cast<std::size_t>(axis)]);
  return n;
}

Value divided(Primitives& p, Value sum, std::int64_t count) {
  return p.div(sum, p.like(sum, static_cast<double>(count)));
}

namespace {

Value average(Primitives& p, Reduce sum_of, Value x, const Shape& axes) {
  return divided(p, p.reduce(sum_of, x, axes), count_along(p.shape(x), axes));
}

/// For each result over `axes`, the element at `quarters` quarters of each axis. The axes are kept.
Value element_after(Primitives& p, Value x, const Shape& axes, std::int64_t quarters) {
  const Shape shape = p.shape(x);
  Shape start = Shape::filled(shape.rank(), 0), limit = shape;
  for (const std::int64_t axis : axes) {
    start[at(axis)] = shape[at(axis)] / 4 * quarters + shape[at(axis)] % 4 * quarters / 4;
    limit[at(axis)] = start[at(axis)] + 1;
  }
  return p.slice(x, start, limit, Shape::filled(shape.rank(), 1));
}

/// For each result over `axes` an element that is no outlier: the median of three. None is at the border of
/// an image, where elements differ most from the others. 0 if it is not finite: the mean of infinities is no
/// NaN. The axes are kept.
Value typical(Primitives& p, Value x, const Shape& axes) {
  const Value a = element_after(p, x, axes, 1), b = element_after(p, x, axes, 2),
              c = element_after(p, x, axes, 3);
  const auto least = [&](Value v, Value w) { return p.binary(Binary::min, v, w); };
  const auto greatest = [&](Value v, Value w) { return p.binary(Binary::max, v, w); };
  const Value median = greatest(least(a, b), least(greatest(a, b), c));
  const Value infinity = p.like(median, std::numeric_limits<double>::infinity());
  const Value is_finite = p.compare(Compare::lt, p.unary(Unary::abs, median), infinity);
  return p.select(is_finite, median, p.like(median, 0));
}

/// The mean over axes, as the sum of an element, the origin, and of the mean of all differences from it.
struct Mean {
  Value origin, away, offset, mean;  // away = x - origin

  using Choice = Value (*)(Primitives& p, Value x, const Shape& axes);
  Mean(Primitives& p, Value x, const Shape& axes, Choice choose = typical) {
    const Shape shape = p.shape(x);
    if (count_along(shape, axes) == 0) {
      away = x;
      mean = origin = average(p, Reduce::sum, x, axes);
      return;
    }
    // The mean does not depend on the element, so to its gradient it is a constant.
    const Value k = p.without_gradient([&] { return choose(p, x, axes); });
    away = p.sub(x, p.broadcast_to(k, shape));
    offset = average(p, Reduce::sum, away, axes);
    origin = p.reshape(k, p.shape(offset));
    mean = p.add(origin, offset);
  }
};

}  // namespace

Value mean_over(Primitives& p, Value x, const Shape& axes) { return Mean(p, x, axes).mean; }

Statistics statistics(Primitives& p, Value x, const Shape& axes, bool of_infinities) {
  // Any element will do: the second pass is from the mean. A view of one costs nothing, a median a kernel.
  const auto middle = [](Primitives& q, Value v, const Shape& over) { return element_after(q, v, over, 2); };
  const Mean m(p, x, axes, of_infinities ? typical : +middle);
  const Value away = p.sub(x, spread(p, m.mean, p.shape(x), axes));
  return {m.mean, average(p, Reduce::sum_squares, away, axes), m.origin, m.offset};
}

Statistics statistics_in_one_pass(Primitives& p, Value x, const Shape& axes) {
  const Mean m(p, x, axes);
  if (!m.offset.valid()) return statistics(p, x, axes);
  const Value square = average(p, Reduce::sum_squares, m.away, axes);
  const Value variance = p.fma(p.unary(Unary::neg, m.offset), m.offset, square);
  return {m.mean, p.binary(Binary::max, variance, p.like(variance, 0)), m.origin, m.offset};
}

Value variance_gradient(Primitives& p, Value x, const Shape& axes, Value head, std::int64_t count) {
  const Shape shape = p.shape(x);
  const Value mean = mean_over(p, x, axes);
  const Value scale = divided(p, p.mul(head, p.like(head, 2)), count);
  return p.mul(p.sub(x, spread(p, mean, shape, axes)), spread(p, scale, shape, axes));
}

Value arg_extreme(Primitives& p, Value x, int axis, Reduce op, DType dtype) {
  const Shape shape = p.shape(x);
  const Value best = p.broadcast_to(p.keep_dims(p.reduce(op, x, {axis}), shape, {axis}), shape);
  // Places in 32 bits: twice as many in a register.
  const bool is_short = shape[axis] <= std::numeric_limits<std::int32_t>::max();
  const TensorType places{is_short ? DType::i32 : DType::i64, shape};
  const Value place = p.iota(places, axis),
              none = p.full_integer(places, is_short ? std::numeric_limits<std::int32_t>::max()
                                                     : std::numeric_limits<std::int64_t>::max());
  Value hit = none;
  // A NaN counts as the extreme but equals nothing: the result is the index of the first NaN.
  if (is_floating(p.dtype(x))) hit = p.select(p.compare(Compare::ne, x, x), place, none);
  hit = p.select(p.compare(Compare::eq, x, best), place, hit);
  return convert(p, p.reduce(Reduce::min, hit, {axis}), dtype);
}

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
