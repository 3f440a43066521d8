// Activations, softmax and their gradients.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/random.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>
#include <limits>
#include <numbers>

namespace kiln::ops {
namespace {

Value where_positive(Primitives& p, Value x, Value positive, Value otherwise) {
  return p.select(p.compare(Compare::gt, x, p.like(x, 0)), positive, otherwise);
}
/// The same, but that NaN counts as positive: it passes gradients, as in MXNet.
Value unless_negative(Primitives& p, Value x, Value positive, Value otherwise) {
  return p.select(p.compare(Compare::le, x, p.like(x, 0)), otherwise, positive);
}

Values activation(Primitives& p, Args in, const Attrs& a) {
  const std::string& type = a.word("act_type");
  Value x = in[0];
  if (type == "relu") return {p.binary(Binary::max, x, p.like(x, 0))};
  if (type == "sigmoid") return {sigmoid(p, x)};
  if (type == "tanh") return {p.unary(Unary::tanh, x)};
  if (type == "softsign") return {softsign(p, x)};
  // log(1 + exp(x)), computed as x for large x, where exp would overflow.
  const Value wide = widen(p, x);
  Value soft = p.unary(Unary::log1p, p.unary(Unary::exp, wide));
  return {convert(p, p.select(p.compare(Compare::gt, wide, p.like(wide, 20)), wide, soft), p.dtype(x))};
}

/// -expm1(-y), which is sigmoid(x): the branch exp(x) that softrelu does not take may be infinite.
Value softrelu_slope(Primitives& p, Value, Value y, const Attrs&) {
  return p.unary(Unary::neg, p.unary(Unary::expm1, p.unary(Unary::neg, y)));
}
Values activation_gradient(Primitives& p, const GradientArgs& args) {
  const std::string& type = args.attrs.word("act_type");
  if (type == "relu") return relu_gradient(p, args);
  if (type == "sigmoid") return head_times<sigmoid_slope>(p, args);
  if (type == "softsign") return head_times<softsign_slope>(p, args);
  if (type == "softrelu") return head_times<softrelu_slope>(p, args);
  return {};
}

constexpr double selu_scale = 1.0507009873554805, selu_alpha = 1.6732632423543772;

std::size_t leaky_inputs(const Attrs& a) { return a.word("act_type") == "prelu" ? 2 : 1; }
int leaky_outputs(const Attrs& a) { return a.word("act_type") == "rrelu" ? 2 : 1; }

/// The slopes of a prelu: one, or of the extents of the first two axes, of channels if there is one axis.
Value spread_slopes(Primitives& p, Value gamma, const Shape& data) {
  const Shape given = p.shape(gamma);
  if (given.elements() == 1) return p.broadcast_to(p.reshape(gamma, {1}), data);
  Shape axes = Shape::filled(given.rank(), -1);
  int left = given.rank();
  for (int axis = std::min(data.rank(), 2) - 1; axis >= 0 && left > 0; --axis)
    if (const std::int64_t extent = given[at(left - 1)]; extent == 1 || extent == data[at(axis)])
      axes[at(--left)] = axis;
  if (left > 0)
    fail("gamma of the shape {} is neither one slope nor one for each channel of data {}", given.str(),
         data.str());
  return p.broadcast(gamma, data, axes);
}

/// Activations with several roundings: x is at least float32.
Value exponential_unit(Primitives& p, Value x, const Attrs& a) {
  const std::string& type = a.word("act_type");
  const auto times = [&](double k, Value v) { return p.mul(v, p.like(v, k)); };
  if (type == "elu") {
    // + 0 is for -0 alone, which MXNet's elu of float32 makes +0.
    const Value below = times(a.real("slope"), p.unary(Unary::expm1, x));
    return unless_negative(p, x, x, p.add(below, p.like(below, 0)));
  }
  if (type == "selu") {
    const Value below = times(selu_alpha, p.unary(Unary::expm1, x));
    return times(selu_scale, where_positive(p, x, x, below));
  }
  const Value inner = p.unary(Unary::erf, times(1 / std::numbers::sqrt2, x));  // gelu
  return p.mul(times(0.5, x), p.add(p.like(x, 1), inner));
}

Values leaky_relu(Primitives& p, Args in, const Attrs& a) {
  const std::string& type = a.word("act_type");
  Value x = in[0];
  auto times = [&](double k, Value v) { return p.mul(v, p.like(v, k)); };
  if (type == "leaky") return {unless_negative(p, x, x, times(a.real("slope"), x))};
  if (type == "elu" || type == "selu" || type == "gelu")
    return {convert(p, exponential_unit(p, widen(p, x), a), p.dtype(x))};
  if (type == "prelu") {
    // One product; its gradients do not multiply the branch that the select drops.
    const Value slope = spread_slopes(p, in[1], p.shape(x));
    return {p.mul(x, where_positive(p, x, p.like(x, 1), slope))};
  }
  // rrelu: in training a random slope, otherwise its mean.
  double low = a.real("lower_bound"), high = a.real("upper_bound");
  Value slope = p.like(x, (low + high) / 2);
  if (p.train()) {
    Value drawn = p.random_uniform(p.shape(x), drawn_in(p.dtype(x)));
    slope = convert(p, p.add(times(high - low, drawn), p.like(drawn, low)), p.dtype(x));
    slope = where_positive(p, x, p.like(x, 1), slope);
  }
  return {where_positive(p, x, x, p.mul(x, slope)), slope};
}

/// alpha exp(x) where x is at most 0; there exp cannot overflow, and elsewhere it is not computed.
Value slope_below(Primitives& p, Value x, double alpha) {
  return p.mul(p.unary(Unary::exp, p.binary(Binary::min, x, p.like(x, 0))), p.like(x, alpha));
}
Value elu_slope(Primitives& p, Value x, Value, const Attrs& a) {
  return unless_negative(p, x, p.like(x, 1), slope_below(p, x, a.real("slope")));
}
Value selu_slope(Primitives& p, Value x, Value, const Attrs&) {
  const Value slope = where_positive(p, x, p.like(x, 1), slope_below(p, x, selu_alpha));
  return p.mul(slope, p.like(x, selu_scale));
}
/// (1 + erf(x / sqrt(2))) / 2 + x exp(-x^2 / 2) / sqrt(2 pi)
Value gelu_slope(Primitives& p, Value x, Value, const Attrs&) {
  const auto times = [&](double k, Value v) { return p.mul(v, p.like(v, k)); };
  const Value below = times(0.5, p.add(p.like(x, 1), p.unary(Unary::erf, times(1 / std::numbers::sqrt2, x))));
  const Value density = p.unary(Unary::exp, times(-0.5, p.mul(x, x)));
  constexpr double scale = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return p.add(below, p.mul(x, times(scale, density)));
}
Values leaky_relu_gradient(Primitives& p, const GradientArgs& args) {
  const std::string& type = args.attrs.word("act_type");
  if (type == "elu") return head_times<elu_slope>(p, args);
  if (type == "selu") return head_times<selu_slope>(p, args);
  if (type == "gelu") return head_times<gelu_slope>(p, args);
  return {};
}
/// One slope per channel, unless the shape is known to be another.
void leaky_shape(ShapeFacts& f, const Attrs&) {
  for (PartialShape& y : f.out) f.same(f.in[0], y);
  if (f.in.size() > 1 && f.in[0].extents.rank() > 1) f.otherwise(f.in[1], Shape{f.in[0].extents[1]});
}

// Softmax.

struct Shifted {
  Value x;      // minus the maximum
  Value alive;  // bool: the unmasked positions; invalid if none is masked
  Shape shape, axes;
  Value over(Primitives& p, Value reduced) const { return spread(p, reduced, shape, axes); }
  Value masked(Primitives& p, Value y, double dead) const {
    return alive.valid() ? p.select(alive, y, p.like(y, dead)) : y;
  }
};

Shifted shifted(Primitives& p, Args in, const Attrs& a, bool negate) {
  Shifted s;
  s.shape = p.shape(in[0]);
  int axis = axis_of(a.integer("axis"), s.shape.rank());
  s.axes = {axis};
  Value x = widen(p, in[0]);
  if (!is_floating(p.dtype(x))) x = p.cast(x, DType::f32);
  if (negate) x = p.unary(Unary::neg, x);
  if (!a.is_none("temperature") && a.real("temperature") != 1) x = p.div(x, p.like(x, a.real("temperature")));
  if (!a.is_none("use_length") && a.boolean("use_length")) {
    Value length = s.over(p, convert(p, in[1], DType::i64));
    s.alive = p.compare(Compare::lt, p.iota({DType::i64, s.shape}, axis), length);
    x = p.select(s.alive, x, p.like(x, -std::numeric_limits<double>::infinity()));
  }
  s.x = below_largest(p, x, s.axes);
  return s;
}
Value softmax_of(Primitives& p, const Shifted& s) {
  return s.masked(p, over_sum(p, p.unary(Unary::exp_nonpositive, s.x), s.axes), 0);
}
Value log_softmax_of(Primitives& p, const Shifted& s) {
  Value total = p.reduce(Reduce::sum, p.unary(Unary::exp_nonpositive, s.x), s.axes);
  return s.masked(p, p.sub(s.x, s.over(p, p.unary(Unary::log, total))), 0);
}
Value in_result_type(Primitives& p, Value y, Value input, const Attrs& a) {
  return convert(p, y, a.is_none("dtype") ? p.dtype(input) : a.dtype("dtype"));
}
template <bool negate>
Values softmax(Primitives& p, Args in, const Attrs& a) {
  return {in_result_type(p, softmax_of(p, shifted(p, in, a, negate)), in[0], a)};
}
Values log_softmax(Primitives& p, Args in, const Attrs& a) {
  return {in_result_type(p, log_softmax_of(p, shifted(p, in, a, false)), in[0], a)};
}

/// dx, given the gradient of -x or x over the temperature.
Values unscaled(Primitives& p, Value dx, const GradientArgs& args, bool negate) {
  const Attrs& a = args.attrs;
  if (!a.is_none("temperature") && a.real("temperature") != 1)
    dx = p.div(dx, p.like(dx, a.real("temperature")));
  if (negate) dx = p.unary(Unary::neg, dx);
  Values out(args.in.size());
  out[0] = convert(p, dx, p.dtype(args.in[0]));
  return out;
}
/// y (g - sum(g y))
Value through_softmax(Primitives& p, Value y, Value g, const Shape& axes) {
  const Value sum = p.reduce(Reduce::sum, p.mul(g, y), axes);
  return p.mul(y, p.sub(g, spread(p, sum, p.shape(y), axes)));
}
template <bool negate>
Values softmax_gradient(Primitives& p, const GradientArgs& args) {
  const Shifted s = shifted(p, args.in, args.attrs, negate);
  // A rounded result is computed again.
  const bool exact = p.dtype(args.out[0]) == p.dtype(s.x);
  const Value y = exact ? args.out[0] : softmax_of(p, s);
  return unscaled(p, through_softmax(p, y, head_of(p, args, 0, s.x), s.axes), args, negate);
}
/// g - exp(y) sum(g); masked elements have neither a gradient nor a share in the sum.
Values log_softmax_gradient(Primitives& p, const GradientArgs& args) {
  const Shifted s = shifted(p, args.in, args.attrs, false);
  const bool exact = p.dtype(args.out[0]) == p.dtype(s.x);
  const Value y = exact ? args.out[0] : log_softmax_of(p, s);
  const Value g = s.masked(p, head_of(p, args, 0, s.x), 0);
  const Value sum = s.over(p, p.reduce(Reduce::sum, g, s.axes));
  const Value dx = p.sub(g, p.mul(p.unary(Unary::exp_nonpositive, y), sum));
  return unscaled(p, s.masked(p, dx, 0), args, false);
}
std::size_t softmax_inputs(const Attrs& a) {
  return !a.is_none("use_length") && a.boolean("use_length") ? 2 : 1;
}
void softmax_shape(ShapeFacts& f, const Attrs& a) {
  f.same(f.in[0], f.out[0]);
  if (f.in.size() > 1) without_axis(f, f.in[0], f.in[1], a.integer("axis"));
}
Shape activation_axes(Primitives& p, Value x, const Attrs& a) {
  return a.word("mode") == "channel" ? Shape{1} : other_axes({0}, p.shape(x).rank());
}
Values softmax_activation(Primitives& p, Args in, const Attrs& a) {
  return {convert(p, softmax_over(p, widen(p, in[0]), activation_axes(p, in[0], a)), p.dtype(in[0]))};
}
Values softmax_activation_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]);
  const Shape axes = activation_axes(p, x, args.attrs);
  const bool exact = p.dtype(args.out[0]) == p.dtype(x);
  const Value y = exact ? args.out[0] : softmax_over(p, x, axes);
  return {convert(p, through_softmax(p, y, head_of(p, args, 0, x), axes), p.dtype(args.in[0]))};
}

}  // namespace

std::span<const OpDef> activation_ops() {
  static const std::vector<AttrSpec> softmax_attrs{int_attr("axis", -1),
                                                   or_none("temperature", AttrKind::real),
                                                   dtype_or_none(),
                                                   {"use_length", AttrKind::boolean, false, true}};
  static const std::vector<OpDef> rows{
      {.name = "Activation",
       .aliases = {"_npx_activation"},
       .summary = "relu, sigmoid, tanh, softrelu or softsign.",
       .inputs = {"data"},
       .attrs = {{"act_type",
                  AttrKind::word,
                  std::nullopt,
                  false,
                  {"relu", "sigmoid", "softrelu", "softsign", "tanh"},
                  {},
                  {{"elu", "nn::ELU() or F::LeakyReLU(x, {.act_type = \"elu\"})"},
                   {"gelu", "nn::GELU() or F::LeakyReLU(x, {.act_type = \"gelu\"})"},
                   {"leaky", "nn::LeakyReLU(slope) or F::LeakyReLU(x)"},
                   {"prelu", "nn::PReLU() or F::LeakyReLU(x, gamma, {.act_type = \"prelu\"})"},
                   {"selu", "nn::SELU() or F::LeakyReLU(x, {.act_type = \"selu\"})"},
                   {"silu", "nn::Swish() or x * F::sigmoid(x)"},
                   {"swish", "nn::Swish() or x * F::sigmoid(x)"}}}},
       .compose = activation,
       .gradient = activation_gradient,
       .shape_rule = elementwise_shape},
      {.name = "LeakyReLU",
       .aliases = {"_npx_leaky_relu"},
       .summary = "Activations that differ from x for negative x: leaky, prelu, rrelu, elu, selu, gelu.",
       .inputs = {"data", "gamma"},
       .active_inputs = leaky_inputs,
       .attrs = {word_attr("act_type", "leaky", {"elu", "gelu", "leaky", "prelu", "rrelu", "selu"}),
                 real_attr("slope", 0.25), real_attr("lower_bound", 0.125), real_attr("upper_bound", 0.334f)},
       .counted_outputs = leaky_outputs,
       .visible_outputs = leaky_outputs,
       .compose = leaky_relu,
       .gradient = leaky_relu_gradient,
       .shape_rule = leaky_shape,
       .train_sensitive = true},
      {.name = "softmax",
       .aliases = {"_npx_softmax"},
       .summary = "exp(x) / sum(exp(x)) over an axis.",
       .inputs = {"data", "length"},
       .active_inputs = softmax_inputs,
       .attrs = softmax_attrs,
       .compose = softmax<false>,
       .gradient = softmax_gradient<false>,
       .shape_rule = softmax_shape},
      {.name = "softmin",
       .summary = "Softmax of -x.",
       .inputs = {"data", "length"},
       .active_inputs = softmax_inputs,
       .attrs = softmax_attrs,
       .compose = softmax<true>,
       .gradient = softmax_gradient<true>,
       .shape_rule = softmax_shape},
      {.name = "log_softmax",
       .aliases = {"_npx_log_softmax"},
       .summary = "The logarithm of softmax.",
       .inputs = {"data", "length"},
       .active_inputs = softmax_inputs,
       .attrs = softmax_attrs,
       .compose = log_softmax,
       .gradient = log_softmax_gradient,
       .shape_rule = softmax_shape},
      {.name = "SoftmaxActivation",
       .summary = "Softmax over all axes but the first, or over the channels.",
       .inputs = {"data"},
       .attrs = {word_attr("mode", "instance", {"channel", "instance"})},
       .compose = softmax_activation,
       .gradient = softmax_activation_gradient,
       .shape_rule = elementwise_shape},
  };
  return rows;
}

}  // namespace kiln::ops
