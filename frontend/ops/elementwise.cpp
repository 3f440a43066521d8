// Pointwise operators of one or more arrays.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/shape_rules.h"
#include "runtime/dtype_table.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace kiln::ops {
namespace {

// Functions of one array.

template <Unary op>
Values unary(Primitives& p, Args in, const Attrs&) {
  return {p.unary(op, in[0])};
}
Values identity(Primitives&, Args in, const Attrs&) { return {in[0]}; }
Values square(Primitives& p, Args in, const Attrs&) { return {p.mul(in[0], in[0])}; }
Values reciprocal(Primitives& p, Args in, const Attrs&) { return {p.div(p.like(in[0], 1), in[0])}; }
Values rcbrt(Primitives& p, Args in, const Attrs&) {
  const Value x = widen(p, in[0]);
  return {convert(p, p.div(p.like(x, 1), p.unary(Unary::cbrt, x)), p.dtype(in[0]))};
}
Values rint(Primitives& p, Args in, const Attrs&) {
  // Ties round down, as in MXNet: -2.5 gives -3, 2.5 gives 2.
  Value x = in[0], low = p.unary(Unary::floor, x), high = p.unary(Unary::ceil, x);
  return {p.select(p.compare(Compare::le, p.sub(x, low), p.sub(high, x)), low, high)};
}
/// x times a factor that no integer is: of integers in float64, and truncated.
Value scaled(Primitives& p, Value x, double factor) {
  const DType d = p.dtype(x);
  const Value y = is_floating(d) ? x : convert(p, x, DType::f64);
  return convert(p, p.mul(y, p.like(y, factor)), d);
}
Values degrees(Primitives& p, Args in, const Attrs&) { return {scaled(p, in[0], 180.0 / std::numbers::pi)}; }
Values radians(Primitives& p, Args in, const Attrs&) { return {scaled(p, in[0], std::numbers::pi / 180.0)}; }
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
// MXNet's own gradients: all of the following ignore the heads, except the last.

Values ones(Primitives& p, const GradientArgs& args) { return {p.like(args.in[0], 1)}; }
/// grad_scale, over the samples of data of two axes and more, or over the elements above valid_thresh.
Values loss_gradient(Primitives& p, const GradientArgs& args) {
  const Attrs& a = args.attrs;
  const Value x = widen(p, args.in[0]);
  const Shape shape = p.shape(x);
  const std::string& by = a.word("normalization");
  const double scale = a.real("grad_scale");
  Value dx = p.like(x, by == "batch" && shape.rank() > 1 ? scale / static_cast<double>(shape[0]) : scale);
  if (by == "valid") {
    const Value is_valid = p.compare(Compare::gt, x, p.like(x, a.real("valid_thresh")));
    const Value count = p.reduce(Reduce::sum, p.cast(is_valid, p.dtype(x)), other_axes({}, shape.rank()));
    dx = p.div(dx, p.broadcast_to(p.binary(Binary::max, count, p.like(count, 1)), shape));
  }
  return {convert(p, dx, p.dtype(args.in[0]))};
}
Value multiplier(Primitives& p, Value x, Value, const Attrs& a) { return p.like(x, a.real("scalar")); }

Values cast(Primitives& p, Args in, const Attrs& a) { return {convert(p, in[0], a.dtype("dtype"))}; }
Values zeros_like(Primitives& p, Args in, const Attrs&) { return {p.like(in[0], 0)}; }
Values ones_like(Primitives& p, Args in, const Attrs&) { return {p.like(in[0], 1)}; }

// Functions of two arrays. The forms without broadcasting require equal shapes; both require equal dtypes.

void require_dtype_of_first(Primitives& p, Args in) {
  for (Value v : in)
    if (p.dtype(v) != p.dtype(in[0]))
      fail(Mistake::two_dtypes, "operands have the dtypes {} and {}: convert one of them (astype, Cast)",
           name_of(p.dtype(in[0])), name_of(p.dtype(v)));
}

std::pair<Value, Value> equal_pair(Primitives& p, Args in) {
  require_dtype_of_first(p, in);
  if (!(p.shape(in[0]) == p.shape(in[1])))
    fail(Mistake::no_broadcast,
         "operands have the shapes {} and {}, which must be equal: use the broadcast_ form of the operator",
         p.shape(in[0]).str(), p.shape(in[1]).str());
  return {in[0], in[1]};
}

template <Binary op, bool broadcasts>
Values binary(Primitives& p, Args in, const Attrs&) {
  require_dtype_of_first(p, in);
  auto [a, b] = broadcasts ? broadcast_pair(p, in[0], in[1]) : equal_pair(p, in);
  return {p.binary(op, a, b)};
}
template <Compare op, bool broadcasts>
Values compare(Primitives& p, Args in, const Attrs&) {
  require_dtype_of_first(p, in);
  auto [a, b] = broadcasts ? broadcast_pair(p, in[0], in[1]) : equal_pair(p, in);
  return {convert(p, p.compare(op, a, b), p.dtype(a))};
}
Values add_n(Primitives& p, Args in, const Attrs&) {
  if (in.empty()) fail("add_n needs an operand");
  Value sum = in[0];
  for (Value v : in.subspan(1)) {
    require_dtype_of_first(p, std::array{sum, v});
    sum = p.add(sum, v);
  }
  return {sum};
}
Values where(Primitives& p, Args in, const Attrs&) {
  Value condition = in[0];
  const Shape& shape = p.shape(in[1]);
  Value holds = p.compare(Compare::ne, condition, p.like(condition, 0));
  // A condition of rank 1 selects rows.
  if (p.shape(condition).rank() == 1 && shape.rank() > 1) holds = p.broadcast_along(holds, shape, 0);
  if (!(p.shape(holds) == shape))
    fail("where takes a condition of the shape {} or one for each row, got {}", shape.str(),
         p.shape(condition).str());
  return {p.select(holds, in[1], in[2])};
}

void where_shape(ShapeFacts& f, const Attrs&) {
  PartialShape &condition = f.in[0], &out = f.out[0];
  f.same(f.in[1], out);
  f.same(f.in[2], out);
  if (!condition.ranked || !out.ranked) return;
  if (condition.extents.rank() == 1 && out.extents.rank() > 1)
    f.same(Axis{condition, 0}, Axis{out, 0});
  else
    f.same(condition, out);
}

const std::vector<std::string_view> one{"data"}, two{"lhs", "rhs"};

OpDef define(std::string_view name, std::vector<std::string_view> aliases, std::string_view summary,
             Values (*compose)(Primitives&, Args, const Attrs&), std::vector<AttrSpec> attrs = {},
             Gradient gradient = nullptr) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .inputs = one,
          .attrs = std::move(attrs),
          .compose = compose,
          .gradient = gradient,
          .shape_rule = elementwise_shape};
}

/// A function of two arrays: for equal shapes, and with broadcasting.
template <auto op>
void add_pair(std::vector<OpDef>& ops, std::string_view equal, std::vector<std::string_view> equal_aliases,
              std::string_view broadcast, std::vector<std::string_view> broadcast_aliases,
              std::string_view summary) {
  auto compose = [](auto broadcasts) -> Values (*)(Primitives&, Args, const Attrs&) {
    if constexpr (std::is_same_v<decltype(op), Binary>)
      return binary<op, decltype(broadcasts)::value>;
    else
      return compare<op, decltype(broadcasts)::value>;
  };
  ops.push_back({.name = equal,
                 .aliases = std::move(equal_aliases),
                 .summary = summary,
                 .inputs = two,
                 .compose = compose(std::false_type{}),
                 .shape_rule = elementwise_shape});
  ops.push_back({.name = broadcast,
                 .aliases = std::move(broadcast_aliases),
                 .summary = summary,
                 .inputs = two,
                 .compose = compose(std::true_type{}),
                 .shape_rule = broadcast_shape});
}

/// Functions of one array.
std::vector<OpDef> unary_rows() {
  return {
      define("abs", {}, "|x|", unary<Unary::abs>),
      define("sign", {}, "-1, 0 or 1", unary<Unary::sign>),
      define("ceil", {}, "The least integer not below x.", unary<Unary::ceil>),
      define("floor", {}, "The greatest integer not above x.", unary<Unary::floor>),
      define("round", {}, "The nearest integer, halves away from zero.", unary<Unary::round>),
      define("rint", {}, "The nearest integer, halves down.", rint),
      define("trunc", {}, "Truncates x towards zero.", unary<Unary::trunc>),
      define("fix", {}, "The nearest integer towards zero.", unary<Unary::trunc>),
      define("square", {}, "x * x", square),
      define("sqrt", {}, "The square root.", unary<Unary::sqrt>),
      define("rsqrt", {}, "1 / sqrt(x)", unary<Unary::rsqrt>),
      define("cbrt", {}, "The cube root.", unary<Unary::cbrt>),
      define("rcbrt", {}, "1 / cbrt(x)", rcbrt),
      define("exp", {}, "e to the x.", unary<Unary::exp>),
      define("log", {}, "The natural logarithm.", unary<Unary::log>),
      define("log10", {}, "The logarithm to base 10.", unary<Unary::log10>),
      define("log2", {}, "The logarithm to base 2.", unary<Unary::log2>),
      define("log1p", {}, "log(1 + x)", unary<Unary::log1p>),
      define("expm1", {}, "exp(x) - 1", unary<Unary::expm1>),
      define("sin", {}, "The sine.", unary<Unary::sin>),
      define("cos", {}, "The cosine.", unary<Unary::cos>),
      define("tan", {}, "The tangent.", unary<Unary::tan>),
      define("arcsin", {}, "The inverse of sin.", unary<Unary::asin>),
      define("arccos", {}, "The inverse of cos.", unary<Unary::acos>),
      define("arctan", {}, "The inverse of tan.", unary<Unary::atan>),
      define("sinh", {}, "The hyperbolic sine.", unary<Unary::sinh>),
      define("cosh", {}, "The hyperbolic cosine.", unary<Unary::cosh>),
      define("tanh", {}, "The hyperbolic tangent.", unary<Unary::tanh>),
      define("arcsinh", {}, "The inverse of sinh.", unary<Unary::asinh>),
      define("arccosh", {}, "The inverse of cosh.", unary<Unary::acosh>),
      define("arctanh", {}, "The inverse of tanh.", unary<Unary::atanh>),
      define("degrees", {}, "Converts radians to degrees.", degrees),
      define("radians", {}, "Converts degrees to radians.", radians),
      define("reciprocal", {}, "1 / x", reciprocal),
      define("negative", {}, "-x", unary<Unary::neg>),
      define("erf", {"_npx_erf"}, "The error function.", unary<Unary::erf>),
      define("sigmoid", {}, "1 / (1 + exp(-x))", sigmoid_of, {}, head_times<sigmoid_slope>),
      define("softsign", {}, "x / (1 + |x|)", softsign_of, {}, head_times<softsign_slope>),
      define("relu", {}, "max(x, 0)", relu, {}, relu_gradient),
      define("logical_not", {}, "1 where x is 0, else 0.", unary<Unary::logical_not>),
      define("hard_sigmoid", {}, "max(0, min(1, alpha * x + beta))", hard_sigmoid,
             {real_attr("alpha", 0.2f), real_attr("beta", 0.5)}, hard_sigmoid_gradient),
      define("clip", {"_npi_clip"}, "Clips x to [a_min, a_max].", clip,
             {required("a_min", AttrKind::real), required("a_max", AttrKind::real)}, clip_gradient),
      define("smooth_l1", {"_npx_smooth_l1"}, "Quadratic near zero, linear beyond.", smooth_l1,
             {real_attr("scalar", 1), bool_attr("is_int", true)}, head_times<smooth_l1_slope>),
      define("_contrib_quadratic", {}, "a x^2 + b x + c", quadratic,
             {real_attr("a", 0), real_attr("b", 0), real_attr("c", 0)}),
      define("_contrib_div_sqrt_dim", {}, "x / sqrt(its last extent)", div_sqrt_dim),
      define("_copy", {"identity"}, "x", identity),
      define("BlockGrad", {"stop_gradient"}, "x; its gradient is zero.", identity),
      define("make_loss", {}, "x; its gradient is 1.", identity, {}, ones),
      define("_contrib_gradientmultiplier", {}, "x; its gradient is multiplied.", identity,
             {real_attr("scalar", 1), ignored(bool_attr("is_int", true), "the gradient has the dtype of x")},
             head_times<multiplier>),
      define("MakeLoss", {}, "x; its gradient is grad_scale.", identity,
             {real_attr("grad_scale", 1), real_attr("valid_thresh", 0),
              word_attr("normalization", "null", {"batch", "null", "valid"})},
             loss_gradient),
      define("Cast", {"_npi_cast", "_npx_cast", "cast"}, "Casts x.", cast,
             {required("dtype", AttrKind::dtype)}),
      define("amp_cast", {}, "Casts x, for mixed precision.", cast, {required("dtype", AttrKind::dtype)}),
      define("zeros_like", {}, "Zeros of the shape and dtype of x.", zeros_like),
      define("ones_like", {}, "Ones of the shape and dtype of x.", ones_like),
  };
}

/// Functions of two arrays, of one shape and broadcast.
void add_pairs(std::vector<OpDef>& ops) {
  add_pair<Binary::add>(ops, "elemwise_add", {"_Plus", "_add", "_plus"}, "broadcast_add", {"broadcast_plus"},
                        "lhs + rhs");
  add_pair<Binary::sub>(ops, "elemwise_sub", {"_Minus", "_minus", "_sub"}, "broadcast_sub",
                        {"broadcast_minus"}, "lhs - rhs");
  add_pair<Binary::mul>(ops, "elemwise_mul", {"_Mul", "_mul"}, "broadcast_mul", {}, "lhs * rhs");
  add_pair<Binary::div>(ops, "elemwise_div", {"_Div", "_div"}, "broadcast_div", {},
                        "lhs / rhs; integers are truncated.");
  add_pair<Binary::mod>(ops, "_mod", {"_Mod"}, "broadcast_mod", {},
                        "The remainder of lhs / rhs, with the divisor's sign.");
  add_pair<Binary::pow>(ops, "_power", {"_Power"}, "broadcast_power", {}, "lhs to the power of rhs.");
  add_pair<Binary::max>(ops, "_maximum", {"_Maximum"}, "broadcast_maximum", {"_npi_maximum"},
                        "The greater of both.");
  add_pair<Binary::min>(ops, "_minimum", {"_Minimum"}, "broadcast_minimum", {"_npi_minimum"},
                        "The lesser of both.");
  add_pair<Binary::hypot>(ops, "_hypot", {"_Hypot"}, "broadcast_hypot", {}, "sqrt(lhs^2 + rhs^2)");
  add_pair<Compare::eq>(ops, "_equal", {"_Equal"}, "broadcast_equal", {}, "1 where lhs == rhs, else 0.");
  add_pair<Compare::ne>(ops, "_not_equal", {"_Not_Equal"}, "broadcast_not_equal", {},
                        "1 where lhs != rhs, else 0.");
  add_pair<Compare::gt>(ops, "_greater", {"_Greater"}, "broadcast_greater", {}, "1 where lhs > rhs, else 0.");
  add_pair<Compare::ge>(ops, "_greater_equal", {"_Greater_Equal"}, "broadcast_greater_equal", {},
                        "1 where lhs >= rhs, else 0.");
  add_pair<Compare::lt>(ops, "_lesser", {"_Lesser"}, "broadcast_lesser", {}, "1 where lhs < rhs, else 0.");
  add_pair<Compare::le>(ops, "_lesser_equal", {"_Lesser_Equal"}, "broadcast_lesser_equal", {},
                        "1 where lhs <= rhs, else 0.");
  add_pair<Binary::logical_and>(ops, "_logical_and", {"_Logical_And"}, "broadcast_logical_and", {},
                                "1 where both are not 0.");
  add_pair<Binary::logical_or>(ops, "_logical_or", {"_Logical_Or"}, "broadcast_logical_or", {},
                               "1 where one is not 0.");
  add_pair<Binary::logical_xor>(ops, "_logical_xor", {"_Logical_Xor"}, "broadcast_logical_xor", {},
                                "1 where just one is not 0.");
}

std::vector<OpDef> make_elementwise() {
  std::vector<OpDef> ops = unary_rows();
  add_pairs(ops);
  ops.push_back({.name = "add_n",
                 .aliases = {"ElementWiseSum"},
                 .summary = "The sum of arrays of one shape.",
                 .inputs = {"args"},
                 .variadic = true,
                 .count_attr = "num_args",
                 .attrs = {required("num_args", AttrKind::integer)},
                 .compose = add_n,
                 .shape_rule = elementwise_shape});
  ops.push_back({.name = "where",
                 .summary = "x where the condition is not 0, else y.",
                 .inputs = {"condition", "x", "y"},
                 .compose = where,
                 .shape_rule = where_shape});
  for (OpDef& op : ops)
    if (op.name == "BlockGrad") op.stops_gradient = true;
  return ops;
}

}  // namespace

std::span<const OpDef> elementwise_ops() {
  static const std::vector<OpDef> ops = make_elementwise();
  return ops;
}

}  // namespace kiln::ops
