// Activations and their gradients.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/random.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>
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

AttrSpec activation_type() {
  return {"act_type",
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
           {"swish", "nn::Swish() or x * F::sigmoid(x)"}},
          "The function."};
}
OpDef activation_row() {
  return {
      .name = "Activation",
      .aliases = {"_npx_activation"},
      .summary = "Applies relu, sigmoid, tanh, softrelu or softsign to each element.",
      .reference =
          of_data |
          OpReference{
              .nan = "NaN; softsign of infinities is NaN too.",
              .ties = "relu of both zeros is +0.",
              .integers =
                  "relu: exact. tanh: computed in float32 and truncated. sigmoid, softrelu and softsign: "
                  "every step is truncated to the dtype, so that results are far from the function's.",
              .gradient = "relu: g where x > 0, else 0, NaN where x is NaN; sigmoid: g y (1 - y); tanh: "
                          "g (1 - y^2); softrelu: g (1 - e^-y); softsign: g / (1 + |x|)^2; y is the result",
              .formula = "relu: max(x, 0); sigmoid: 1 / (1 + e^-x); tanh: tanh(x); softrelu: log(1 + e^x), x "
                         "where x > 20; softsign: x / (1 + |x|)",
              .source =
                  "MXNet 1.9.1 (src/operator/nn/activation.cc), which hides the NaN of a float32 relu."},
      .inputs = {"data"},
      .attrs = {activation_type()},
      .compose = activation,
      .gradient = activation_gradient,
      .shape_rule = elementwise_shape};
}
OpDef leaky_relu_row() {
  return {
      .name = "LeakyReLU",
      .aliases = {"_npx_leaky_relu"},
      .summary =
          "Applies a function that is x, or nearly x, for positive x: leaky, prelu, rrelu, elu, selu or "
          "gelu.",
      .reference =
          of_data |
          OpReference{
              .shapes = "data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...); "
                        "rrelu: data "
                        "(...) -> (...) and the slopes (...)",
              .dtypes = "Any, one for data and gamma; the results have it.",
              .nan = "NaN; gelu of -infinity is NaN too.",
              .ties = "At 0 the gradient is that of negative x. At NaN it is g of leaky and elu, gamma g of "
                      "prelu, the slope times g of rrelu, else NaN.",
              .integers = "Slopes, factors and every step are truncated: with the defaults leaky, elu and "
                          "rrelu give max(x, 0). prelu: wraps.",
              .gradient = "g where x > 0, else leaky: slope g; elu: slope g e^x; prelu: gamma g; rrelu: g "
                          "times the slope of the element. gamma: the sum of g x over elements with x <= 0. "
                          "selu: 1.0507 g times 1 or 1.67326 e^x. gelu: g ((1 + erf(x / sqrt(2))) / 2 + x "
                          "e^(-x^2 / 2) / sqrt(2 pi))",
              .formula = "x where x > 0; else leaky: slope x; elu: slope (e^x - 1); prelu: gamma x; rrelu: a "
                         "slope times "
                         "x. selu: 1.0507 times x or 1.67326 (e^x - 1); gelu: x / 2 (1 + erf(x / sqrt(2)))",
              .source =
                  "MXNet 1.9.1 (src/operator/leaky_relu.cc). Differences: float64 is computed in "
                  "float64; selu has the derivative as gradient; docs/differences.md lists special values."},
      .inputs = {"data", "gamma"},
      .active_inputs = leaky_inputs,
      .attrs = {word_attr("act_type", "leaky", {"elu", "gelu", "leaky", "prelu", "rrelu", "selu"},
                          "The function; prelu alone has the input gamma."),
                real_attr("slope", 0.25, "leaky and elu: the factor for x <= 0."),
                real_attr("lower_bound", 0.125, "rrelu: the least slope."),
                real_attr("upper_bound", 0.334f,
                          "rrelu: the bound of slopes. In training each element has its own, uniform "
                          "between both; in prediction their mean.")},
      .counted_outputs = leaky_outputs,
      .visible_outputs = leaky_outputs,
      .compose = leaky_relu,
      .gradient = leaky_relu_gradient,
      .shape_rule = leaky_shape,
      .train_sensitive = true};
}

}  // namespace

std::span<const OpDef> activation_ops() {
  static const std::vector<OpDef> rows{activation_row(), leaky_relu_row()};
  return rows;
}

}  // namespace kiln::ops
