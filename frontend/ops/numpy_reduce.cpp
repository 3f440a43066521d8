// numpy mode's reductions.
#include "frontend/ops/numpy.h"
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reduce.h"
#include "frontend/ops/reference.h"
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

constexpr OpReference numpy_reduction_reference =
    reduction_reference | OpReference{.shapes =
                                          "a (...) -> (...) without the reduced axes, () if none is left; "
                                          "with keepdims they have extent 1"};
constexpr OpReference total_reference =
    numpy_reduction_reference |
    OpReference{
        .dtypes = "Any; the result has the dtype of a, int64 for bool, or the attribute dtype.",
        .integers =
            "Integers and bool are converted to the dtype of the result before they are reduced, and wrap "
            "modulo 2^n. Floating elements are reduced first; an integer result is then truncated. For the "
            "dtype bool elements are 0 or 1, and the result is whether it is not 0."};
constexpr OpReference bound_reference =
    numpy_reduction_reference | extreme_reference |
    OpReference{.dtypes = "Any; the result has the dtype of a.",
                .empty =
                    "Axes without elements throw, or give initial. With elements along the axes but none "
                    "along the others the result is empty."};
constexpr OpReference moment_reference =
    numpy_reduction_reference |
    OpReference{.dtypes = "Not bool; the result has the dtype of a, or the attribute dtype.",
                .empty = "NaN; an integer result is NaN converted as by Cast, the least int64 wrapped.",
                .integers =
                    "The mean is truncated to the dtype of a before it is subtracted, and squares wrap "
                    "modulo 2^n of it; their sum is a float64. An integer result is truncated."};

OpDef define(std::string_view name, std::string_view summary,
             Values (*compose)(Primitives&, Args, const Attrs&), std::vector<AttrSpec> attrs,
             const OpReference& reference, std::vector<std::string_view> aliases = {}) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .reference = reference,
          .inputs = {"a"},
          .attrs = std::move(attrs),
          .compose = compose,
          .shape_rule = reduction_shape};
}

/// Sums, products, extremes and the mean.
std::vector<OpDef> totals() {
  const AttrSpec axis = tuple_or_none("axis", numpy_reduced_axes),
                 keepdims = bool_attr("keepdims", false, kept_axes),
                 dtype = meaning(dtype_or_none(), "The result's dtype; None: that of a, int64 for bool."),
                 initial = or_none("initial", AttrKind::real,
                                   "A number that is reduced too; None: none. If integers are reduced, it is "
                                   "truncated and wrapped to their dtype.");
  const std::vector<AttrSpec> plain{axis, keepdims, initial}, typed{axis, dtype, keepdims, initial};
  return {
      define(
          "_np_sum", "Sums the elements over axes.", accumulate<Reduce::sum>, typed,
          total_reference |
              OpReference{
                  .empty = "A sum of no elements is 0, or initial.",
                  .gradient = "a: g, repeated along the axes.",
                  .formula = "y = initial + sum of a over the axes; half precision in float32, rounded once.",
                  .source = "MXNet 1.9.1's _np_sum; the cases of tests/golden/ops/np_sum."}),
      define("_np_prod", "Multiplies the elements over axes.", accumulate<Reduce::prod>, typed,
             total_reference |
                 OpReference{
                     .empty = "A product of no elements is 1, or initial.",
                     .gradient = "a: g initial times the product of the other elements, which is not divided "
                                 "by the element.",
                     .formula =
                         "y = initial * product of a over the axes; half precision in float32, rounded once.",
                     .source = "MXNet 1.9.1's _np_prod; the cases of tests/golden/ops/np_prod."},
             {"_np_product"}),
      define("_np_max", "Gives the maximum over axes; NaN propagates.", extreme<Reduce::max>, plain,
             bound_reference |
                 OpReference{.formula = "y = max of a over the axes and initial.",
                             .source = "MXNet 1.9.1's _np_max; the cases of tests/golden/ops/np_max."},
             {"_np_amax"}),
      define("_np_min", "Gives the minimum over axes; NaN propagates.", extreme<Reduce::min>, plain,
             bound_reference |
                 OpReference{.formula = "y = min of a over the axes and initial.",
                             .source = "MXNet 1.9.1's _np_min; the cases of tests/golden/ops/np_min."},
             {"_np_amin"}),
      define("_npi_mean", "Averages the elements over axes, integers to float32.", mean,
             {axis, meaning(dtype, "The result's dtype; None: that of a, float32 for integers and bool."),
              keepdims, or_none("initial", AttrKind::real, "A number that is summed too; None: none.")},
             numpy_reduction_reference |
                 OpReference{
                     .dtypes = "Any; the result has the dtype of a, float32 for integers and bool, or the "
                               "attribute dtype.",
                     .empty = "A mean of no elements is NaN; with initial it is initial / 0.",
                     .integers = "Summed and divided in float64, then converted to the dtype of the result.",
                     .gradient = "a: g / n, repeated along the axes; n is the number of elements per result.",
                     .formula = "y = (initial + sum of a over the axes) / n; n does not count initial. Half "
                                "precision in float32, rounded once.",
                     .source = "MXNet 1.9.1's _npi_mean; the cases of tests/golden/ops/np_mean."}),
  };
}

/// The variance and the deviation, with the mean as a hidden output.
OpDef deviation(std::string_view name, std::string_view summary,
                Values (*compose)(Primitives&, Args, const Attrs&), Gradient gradient,
                const OpReference& reference) {
  OpDef op = define(name, summary, compose,
                    {tuple_or_none("axis", numpy_reduced_axes), dtype_or_none(),
                     int_attr("ddof", 0, "The number subtracted from the count of elements in the divisor."),
                     bool_attr("keepdims", false, kept_axes)},
                    moment_reference | reference);
  op.counted_outputs = outputs<2>;
  op.output_names = {name.substr(5), "mean"};
  op.gradient = gradient;
  return op;
}

OpDef place(std::string_view name, std::string_view summary,
            Values (*compose)(Primitives&, Args, const Attrs&), std::string_view formula,
            std::string_view source) {
  OpDef op = define(
      name, summary, compose,
      {or_none("axis", AttrKind::integer,
               "The axis; negative: from the end. None: all elements, in C order."),
       bool_attr("keepdims", false, kept_axes)},
      place_reference |
          OpReference{
              .shapes =
                  "data (...) -> (...) without the axis, () for axis None; with keepdims extents 1 instead",
              .dtypes = "Any; the result is int64.",
              .empty = "An axis without elements throws. With elements along the axis but none along the "
                       "others the result is empty.",
              .formula = formula,
              .source = source});
  op.inputs = {"data"};
  op.shape_rule = nullptr;
  return op;
}

}  // namespace

std::span<const OpDef> numpy_reduce_ops() {
  static const std::vector<OpDef> rows = [] {
    std::vector<OpDef> all = totals();
    all.push_back(deviation(
        "_npi_var", "Gives the variance over axes.", variance<false>, variance_gradient<false>,
        {.gradient = "a: 2 (a - mean) g / (n - ddof). MXNet's is 0.",
         .formula = "y = (sum of (a - mean)^2) / (n - ddof), n the number of elements per result.",
         .source = "MXNet 1.9.1's _npi_var; the cases of tests/golden/ops/np_var. Kiln has a gradient."}));
    all.push_back(deviation(
        "_npi_std", "Gives the standard deviation over axes.", variance<true>, variance_gradient<true>,
        {.gradient = "a: (a - mean) g / ((n - ddof) y), 0 where y is 0. MXNet's is 0.",
         .formula = "y = sqrt((sum of (a - mean)^2) / (n - ddof)), n the number of elements per result.",
         .source = "MXNet 1.9.1's _npi_std; the cases of tests/golden/ops/np_std. Kiln has a gradient."}));
    all.push_back(place("_npi_argmax", "Gives the index of the maximum, in int64.", arg_reduce<Reduce::max>,
                        "y = the least i with data[i] = max of data.",
                        "MXNet 1.9.1's _npi_argmax; the cases of tests/golden/ops/np_argmax."));
    all.push_back(place("_npi_argmin", "Gives the index of the minimum, in int64.", arg_reduce<Reduce::min>,
                        "y = the least i with data[i] = min of data.",
                        "MXNet 1.9.1's _npi_argmin; the cases of tests/golden/ops/np_argmin."));
    return all;
  }();
  return rows;
}

}  // namespace kiln::ops
