// Pointwise operators of one array: functions in pieces, and the list of all.
#include "frontend/ops/pointwise.h"
#include "frontend/ops/shape_rules.h"
#include "runtime/dtype_table.h"

#include <cmath>

namespace kiln::ops {
namespace {

Values relu(Primitives& p, Args in, const Attrs&) { return {p.binary(Binary::max, in[0], p.like(in[0], 0))}; }
Values sigmoid_of(Primitives& p, Args in, const Attrs&) {
  const DType d = p.dtype(in[0]);
  return {convert(p, sigmoid(p, is_floating(d) ? in[0] : convert(p, in[0], DType::f32)), d)};
}
Values softsign_of(Primitives& p, Args in, const Attrs&) { return {softsign(p, in[0])}; }
Values hard_sigmoid(Primitives& p, Args in, const Attrs& a) {
  const Value x = widen(p, in[0]);
  Value line = p.add(p.mul(x, p.like(x, a.real("alpha"))), p.like(x, a.real("beta")));
  Value y = p.binary(Binary::max, p.binary(Binary::min, line, p.like(line, 1)), p.like(line, 0));
  return {convert(p, y, p.dtype(in[0]))};
}
/// Nothing passes at the ends, as in MXNet.
Values hard_sigmoid_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]), y = convert(p, args.out[0], p.dtype(x));
  const Value inside = p.binary(Binary::logical_and, p.compare(Compare::gt, y, p.like(y, 0)),
                                p.compare(Compare::lt, y, p.like(y, 1)));
  const Value dx = p.mul(head_of(p, args, 0, x), p.like(x, args.attrs.real("alpha")));
  return {convert(p, p.select(inside, dx, p.like(x, 0)), p.dtype(args.in[0]))};
}
/// A bound in the type of x: of integers it is truncated, and not outside of their range.
Value bound_of(Primitives& p, Value x, double bound) {
  const TensorType type{p.dtype(x), p.shape(x)};
  if (!is_integer(type.dtype)) return p.like(x, bound);
  const auto [low, high] = range_of_integer(type.dtype);
  if (bound <= static_cast<double>(low)) return p.full_integer(type, low);
  return bound >= static_cast<double>(high) ? p.full_integer(type, high) : p.like(x, bound);
}
/// Clipping: an element equal to a bound is unchanged, including a zero with its sign.
Values clip(Primitives& p, Args in, const Attrs& a) {
  Value raised = p.binary(Binary::max, bound_of(p, in[0], a.real("a_min")), in[0]);
  return {p.binary(Binary::min, bound_of(p, in[0], a.real("a_max")), raised)};
}
/// The head but where x was changed: both ends and NaN pass it.
Values clip_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = args.in[0], head = args.heads[0];
  const Value below = p.compare(Compare::lt, x, bound_of(p, x, args.attrs.real("a_min"))),
              above = p.compare(Compare::gt, x, bound_of(p, x, args.attrs.real("a_max")));
  return {p.select(p.binary(Binary::logical_or, below, above), p.like(head, 0), head)};
}
Values smooth_l1(Primitives& p, Args in, const Attrs& a) {
  // 0.5 (s x)^2 where |x| < 1/s^2, else |x| - 0.5/s^2.
  double s2 = a.real("scalar") * a.real("scalar");
  const Value given = widened_for_scalar(p, in[0], a);
  const DType d = p.dtype(given);
  const Value x = is_floating(d) ? widen(p, given) : convert(p, given, DType::f64);
  Value size = p.unary(Unary::abs, x);
  Value inner = p.mul(p.like(x, 0.5 * s2), p.mul(x, x));
  Value outer = p.sub(size, p.like(x, 0.5 / s2));
  return {convert(p, p.select(p.compare(Compare::lt, size, p.like(x, 1 / s2)), inner, outer), d)};
}
Value smooth_l1_slope(Primitives& p, Value x, Value, const Attrs& a) {
  const double s2 = a.real("scalar") * a.real("scalar");
  const Value is_outer = p.compare(Compare::ge, p.unary(Unary::abs, x), p.like(x, 1 / s2));
  return p.select(is_outer, p.unary(Unary::sign, x), p.mul(x, p.like(x, s2)));
}
Values quadratic(Primitives& p, Args in, const Attrs& a) {
  const Value x = widen(p, in[0]);
  const Value line = p.add(p.mul(p.like(x, a.real("a")), x), p.like(x, a.real("b")));
  return {convert(p, p.add(p.mul(x, line), p.like(x, a.real("c"))), p.dtype(in[0]))};
}
Values div_sqrt_dim(Primitives& p, Args in, const Attrs&) {
  if (p.shape(in[0]).empty()) fail("_contrib_div_sqrt_dim needs an array of at least one axis");
  return {p.div(in[0], p.like(in[0], std::sqrt(static_cast<double>(p.shape(in[0]).back()))))};
}

OpDef clip_row() {
  return pointwise(
      "clip", "Clips x to the interval from a_min to a_max.", clip,
      of_data | OpReference{.nan = "NaN; a bound that is NaN makes every element NaN.",
                            .ties = "An element equal to a bound is unchanged, a zero with its sign.",
                            .integers = "Bounds are truncated, and clipped to the range of the dtype. Of "
                                        "bools: a bound that is not 0 is true.",
                            .gradient = "0 where x < a_min or x > a_max, else g",
                            .formula = "min(a_max, max(a_min, x)); a_max everywhere if a_min > a_max",
                            .source = "MXNet 1.9.1 (src/operator/tensor/matrix_op.cc)."},
      {"_npi_clip"},
      {required("a_min", AttrKind::real, "The lower bound."),
       required("a_max", AttrKind::real, "The upper bound.")},
      clip_gradient);
}
OpDef smooth_l1_row() {
  return pointwise(
      "smooth_l1", "The smooth L1 loss of x: quadratic near zero, linear beyond.", smooth_l1,
      of_data |
          OpReference{.dtypes = "Any; the result has the dtype of data, int64 of bool, and float64 of "
                                "integers and bools if is_int is False.",
                      .integers = "Computed in float64; truncated if is_int is True.",
                      .gradient = "g scalar^2 x where |x| < 1 / scalar^2, else g sign(x)",
                      .formula = "(scalar x)^2 / 2 where |x| < 1 / scalar^2, else |x| - 1 / (2 scalar^2)",
                      .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_scalar_op_extended.cc)."},
      {"_npx_smooth_l1"},
      {real_attr("scalar", 1, "The pieces meet at |x| = 1 / scalar^2."),
       bool_attr("is_int", true, "False: integers are computed and returned in float64.")},
      head_times<smooth_l1_slope>);
}
OpDef quadratic_row() {
  return pointwise(
      "_contrib_quadratic", "The quadratic polynomial a x^2 + b x + c.", quadratic,
      of_data | OpReference{.integers = "a, b and c are truncated; products and sums wrap. Bools: 'and' in "
                                        "the place of products, 'or' of sums.",
                            .gradient = "g (2 a x + b)",
                            .formula = "x (a x + b) + c",
                            .source = "MXNet 1.9.1 (src/operator/contrib/quadratic_op.cc)."},
      {},
      {real_attr("a", 0, "The coefficient of x^2."), real_attr("b", 0, "The coefficient of x."),
       real_attr("c", 0, "The constant term.")});
}

}  // namespace

OpDef pointwise(std::string_view name, std::string_view summary, decltype(OpDef::compose) compose,
                const OpReference& reference, std::vector<std::string_view> aliases,
                std::vector<AttrSpec> attrs, Gradient gradient) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .reference = reference,
          .inputs = {"data"},
          .attrs = std::move(attrs),
          .compose = compose,
          .gradient = gradient,
          .shape_rule = elementwise_shape};
}

std::vector<OpDef> piecewise_ops() {
  return {
      pointwise("sigmoid", "The logistic function of x.", sigmoid_of,
                unary_basic |
                    OpReference{.integers = "Computed in float32 and truncated: 1 where that rounds to 1, "
                                            "else 0. Of bools: true.",
                                .gradient = "g y (1 - y), with y the result",
                                .formula = "1 / (1 + e^-x), by e^-|x|"},
                {}, {}, head_times<sigmoid_slope>),
      pointwise(
          "softsign", "x divided by 1 + |x|.", softsign_of,
          unary_basic |
              OpReference{
                  .nan = "NaN, of infinities too.",
                  .integers = "The quotient is truncated: 0, of the least signed integer 1. Of bools: x.",
                  .gradient = "g / (1 + |x|)^2",
                  .formula = "x / (1 + |x|)"},
          {}, {}, head_times<softsign_slope>),
      pointwise("relu", "x where it is positive, else 0.", relu,
                unary_basic | OpReference{.ties = "Both zeros give +0.",
                                          .integers = "Exact.",
                                          .gradient = "g where x > 0, else 0, at 0 too; NaN where x is NaN",
                                          .formula = "max(x, 0)"},
                {}, {}, relu_gradient),
      pointwise("logical_not", "1 where x is 0, else 0.", unary<Unary::logical_not>,
                unary_basic | OpReference{.nan = "0.",
                                          .integers = "Exact.",
                                          .gradient = gradient_zeros,
                                          .formula = "1 where x = 0, else 0"}),
      pointwise("hard_sigmoid", "A piecewise linear approximation of sigmoid.", hard_sigmoid,
                unary_basic |
                    OpReference{.integers = "alpha and beta are truncated: with the defaults the result is "
                                            "0. Of bools: true with the defaults.",
                                .gradient = "alpha g where the result is between 0 and 1, else 0, where x "
                                            "is NaN too",
                                .formula = "max(0, min(1, alpha x + beta))"},
                {}, {real_attr("alpha", 0.2f, "The slope."), real_attr("beta", 0.5, "The value at 0.")},
                hard_sigmoid_gradient),
      clip_row(),
      smooth_l1_row(),
      quadratic_row(),
      pointwise("_contrib_div_sqrt_dim", "Divides x by the square root of its last extent.", div_sqrt_dim,
                of_data | OpReference{.shapes = "data (..., d) -> (..., d)",
                                      .integers = "The root is truncated, and the quotient too. Bools: x.",
                                      .gradient = "g / sqrt(d)",
                                      .formula = "x / sqrt(d)",
                                      .source = "MXNet 1.9.1 (src/operator/contrib/transformer.cc)."}),
  };
}

std::span<const OpDef> elementwise_ops() {
  static const std::vector<OpDef> all = [] {
    std::vector<OpDef> ops;
    for (auto family : {rounding_ops, elementary_ops, piecewise_ops, identity_ops, pair_ops})
      for (OpDef& op : family()) ops.push_back(std::move(op));
    return ops;
  }();
  return all;
}

}  // namespace kiln::ops
