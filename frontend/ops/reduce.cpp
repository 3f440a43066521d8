// Reductions of MXNet's classic operators.
#include "frontend/ops/reduce.h"

#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reference.h"
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

constexpr OpReference folded_reference =
    reduction_reference | OpReference{.shapes =
                                          "data (...) -> (...) without the reduced axes, (1) if none is "
                                          "left, in numpy mode too; with keepdims they have extent 1",
                                      .dtypes = "Any; the result has the dtype of data."};

constexpr std::string_view sum_file = "MXNet 1.9.1 (src/operator/tensor/broadcast_reduce_sum_value.cc).",
                           product_file = "MXNet 1.9.1 (src/operator/tensor/broadcast_reduce_prod_value.cc).",
                           extreme_file =
                               "MXNet 1.9.1 (src/operator/tensor/broadcast_reduce_minmax_value.cc).",
                           place_file = "MXNet 1.9.1 (src/operator/tensor/broadcast_reduce_op_index.cc).";

/// A reduction over the attribute `axis`.
OpDef over_axes(std::string_view name, std::vector<std::string_view> aliases, std::string_view summary,
                Values (*compose)(Primitives&, Args, const Attrs&), const OpReference& reference) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .reference = reference,
          .inputs = {"data"},
          .attrs = {tuple_or_none("axis", reduced_axes), bool_attr("keepdims", false, kept_axes),
                    bool_attr("exclude", false,
                              "Whether axis lists the kept axes instead; None and () then reduce nothing.")},
          .compose = compose,
          .shape_rule = reduction_shape<axis_name>};
}

std::vector<OpDef> folds() {
  return {
      over_axes("sum", {"sum_axis"}, "Sums the elements over axes.", plain<Reduce::sum>,
                folded_reference |
                    OpReference{
                        .empty = "A sum of no elements is 0.",
                        .gradient = "data: g, repeated along the axes.",
                        .formula = "y = sum of data over the axes; half precision in float32, rounded once.",
                        .source = sum_file}),
      over_axes(
          "mean", {}, "Averages the elements over axes.", mean,
          folded_reference |
              OpReference{
                  .empty = "A mean of no elements is NaN, of integers and bool 0.",
                  .integers = "Sum and count wrap modulo 2^n of the dtype of data: of 256 elements of int8 "
                              "the count is 0. The quotient is truncated towards zero, and 0 for a count of "
                              "0. A mean of bool is whether one is true.",
                  .gradient = "data: g / n, repeated along the axes; n is the number of elements per result.",
                  .formula = "y = (sum of data over the axes) / n; half precision in float32, rounded once.",
                  .source = sum_file}),
      over_axes(
          "prod", {}, "Multiplies the elements over axes.", plain<Reduce::prod>,
          folded_reference |
              OpReference{
                  .empty = "A product of no elements is 1.",
                  .gradient =
                      "data: g times the product of the other elements, which is not divided by the element.",
                  .formula = "y = product of data over the axes; half precision in float32, rounded once.",
                  .source = product_file}),
      over_axes(
          "nansum", {}, "Sums the elements over axes, NaN as 0.", plain<Reduce::sum, NaN::is_neutral>,
          folded_reference |
              OpReference{
                  .nan = "Counts as 0.",
                  .empty = "A sum of no elements is 0.",
                  .gradient = "data: g, repeated along the axes; 0 at a NaN.",
                  .formula =
                      "y = sum of data over the axes without NaN; half precision in float32, rounded once.",
                  .source = sum_file}),
      over_axes("nanprod", {}, "Multiplies the elements over axes, NaN as 1.",
                plain<Reduce::prod, NaN::is_neutral>,
                folded_reference |
                    OpReference{.nan = "Counts as 1.",
                                .empty = "A product of no elements is 1.",
                                .gradient = "data: g times the product of the other elements; 0 at a NaN.",
                                .formula = "y = product of data over the axes without NaN; half precision in "
                                           "float32, rounded once.",
                                .source = product_file}),
      over_axes(
          "max", {"max_axis"}, "Gives the maximum over axes; NaN propagates.", plain<Reduce::max>,
          folded_reference | extreme_reference |
              OpReference{
                  .empty = "A maximum of no elements is -inf, of integers and bool the least of the dtype.",
                  .formula = "y = max of data over the axes.",
                  .source = extreme_file}),
      over_axes(
          "min", {"min_axis"}, "Gives the minimum over axes; NaN propagates.", plain<Reduce::min>,
          folded_reference | extreme_reference |
              OpReference{
                  .empty = "A minimum of no elements is inf, of integers and bool the greatest of the dtype.",
                  .formula = "y = min of data over the axes.",
                  .source = extreme_file}),
  };
}

/// argmax and argmin.
OpDef place_along(std::string_view name, std::string_view summary,
                  Values (*compose)(Primitives&, Args, const Attrs&), std::string_view formula) {
  return {
      .name = name,
      .summary = summary,
      .reference = place_reference |
                   OpReference{.shapes = "data (...) -> (...) without the axis, (1) if none is left or axis "
                                         "is None, in numpy mode too; with keepdims extents 1 instead",
                               .formula = formula,
                               .source = place_file},
      .inputs = {"data"},
      .attrs = {or_none("axis", AttrKind::integer,
                        "The axis; negative: from the end. None: all elements, as a vector in C order."),
                bool_attr("keepdims", false, kept_axes)},
      .compose = compose,
      .shape_rule = arg_shape};
}

}  // namespace

std::span<const OpDef> reduce_ops() {
  static const std::vector<std::string_view> one{"data"};
  static const std::vector<OpDef> rows = [] {
    std::vector<OpDef> all = folds();
    all.push_back(
        {.name = "norm",
         .summary = "Gives the 1-norm or the 2-norm over axes.",
         .reference =
             folded_reference |
             OpReference{
                 .dtypes = "Any; the result has the dtype of data, or out_dtype.",
                 .empty = "A norm of no elements is 0.",
                 .integers = "Computed in the dtype of data: absolute values and sums wrap modulo "
                             "2^n, and the root is truncated.",
                 .gradient =
                     "data: ord 2: g data / y, g data where the sum is 0. ord 1: g sign(data), 0 where "
                     "data is 0 or NaN.",
                 .formula = "ord 2: y = sqrt(sum of data^2), unscaled: a sum that overflows is inf. "
                            "ord 1: y = sum of |data|. Half precision in float32, rounded once.",
                 .source = "MXNet 1.9.1 (src/operator/tensor/broadcast_reduce_norm_value.cc)."},
         .inputs = one,
         .attrs = {int_attr("ord", 2, "The order of the norm, 1 or 2."), tuple_or_none("axis", reduced_axes),
                   or_none("out_dtype", AttrKind::dtype,
                           "The dtype of the result; None: that of data. The norm is computed before it is "
                           "converted."),
                   bool_attr("keepdims", false, kept_axes)},
         .compose = norm,
         .gradient = norm_gradient,
         .shape_rule = reduction_shape<axis_name>});
    all.push_back(
        {.name = "moments",
         .summary = "Gives the mean and the biased variance over axes.",
         .reference =
             folded_reference |
             OpReference{.shapes = "data (...) -> mean (...), variance (...): without the reduced axes, (1) "
                                   "if none is left, in numpy mode too; with keepdims they have extent 1",
                         .dtypes = "Any; both results have the dtype of data.",
                         .empty = "Mean and variance of no elements are NaN, of integers 0.",
                         .integers = "Computed in the dtype of data: sums wrap modulo 2^n, quotients are "
                                     "truncated towards zero.",
                         .gradient = "data: (g of the mean) / n + 2 (data - mean) (g of the variance) / n.",
                         .formula = "mean = (sum of data) / n, variance = (sum of (data - mean)^2) / n. Sums "
                                    "are of differences from one element: equal elements have exactly that "
                                    "mean, and variance 0. Half precision in float32, rounded once.",
                         .source = "MXNet 1.9.1 (src/operator/nn/moments.cc)."},
         .inputs = one,
         .attrs = {tuple_or_none("axes", reduced_axes), bool_attr("keepdims", false, kept_axes)},
         .counted_outputs = outputs<2>,
         .visible_outputs = outputs<2>,
         .compose = moments,
         .gradient = moments_gradient,
         .shape_rule = reduction_shape<axes_name>});
    all.push_back(place_along("argmax", "Gives the index of the maximum, in the dtype of data.",
                              arg_reduce<Reduce::max>, "y = the least i with data[i] = max of data."));
    all.push_back(place_along("argmin", "Gives the index of the minimum, in the dtype of data.",
                              arg_reduce<Reduce::min>, "y = the least i with data[i] = min of data."));
    all.push_back(
        {.name = "argmax_channel",
         .summary = "Gives the index of the maximum along axis 1, in the dtype of data.",
         .reference =
             place_reference |
             OpReference{.shapes = "data (N, C, ...) -> (N, ...)",
                         .formula = "y[n, ...] = the least c with data[n, c, ...] = max of data[n, :, ...].",
                         .source = place_file},
         .inputs = one,
         .compose = argmax_channel});
    return all;
  }();
  return rows;
}

}  // namespace kiln::ops
