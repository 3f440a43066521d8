#include "frontend/ops/random.h"
#include "frontend/ops/shape_rules.h"

#include <limits>
#include <numbers>

namespace kiln::ops {
namespace {

Value where_positive(Primitives& p, Value x, Value positive, Value otherwise) {
  return p.select(p.compare(Compare::gt, x, p.like(x, 0)), positive, otherwise);
}

Values activation(Primitives& p, Args in, const Attrs& a) {
  const std::string& type = a.word("act_type");
  Value x = in[0];
  if (type == "relu") return {p.binary(Binary::max, x, p.like(x, 0))};
  if (type == "sigmoid") return {sigmoid(p, x)};
  if (type == "tanh") return {p.unary(Unary::tanh, x)};
  if (type == "softsign") return {p.div(x, p.add(p.like(x, 1), p.unary(Unary::abs, x)))};
  // log(1 + exp(x)), computed as x for large x, where exp would overflow.
  Value soft = p.unary(Unary::log1p, p.unary(Unary::exp, x));
  return {p.select(p.compare(Compare::gt, x, p.like(x, 20)), x, soft)};
}

std::size_t leaky_inputs(const Attrs& a) { return a.word("act_type") == "prelu" ? 2 : 1; }
int leaky_outputs(const Attrs& a) { return a.word("act_type") == "rrelu" ? 2 : 1; }

Values leaky_relu(Primitives& p, Args in, const Attrs& a) {
  const std::string& type = a.word("act_type");
  Value x = in[0];
  auto times = [&](double k, Value v) { return p.mul(v, p.like(v, k)); };
  if (type == "leaky") return {where_positive(p, x, x, times(a.real("slope"), x))};
  if (type == "elu") return {where_positive(p, x, x, times(a.real("slope"), p.unary(Unary::expm1, x)))};
  if (type == "selu") {
    constexpr double scale = 1.0507009873554805, alpha = 1.6732632423543772;
    return {times(scale, where_positive(p, x, x, times(alpha, p.unary(Unary::expm1, x))))};
  }
  if (type == "gelu") {
    Value inner = p.unary(Unary::erf, times(1 / std::numbers::sqrt2, x));
    return {p.mul(times(0.5, x), p.add(p.like(x, 1), inner))};
  }
  if (type == "prelu") {
    const Shape shape = p.shape(x), gamma = p.shape(in[1]);
    Value slope;
    if (gamma.elements() == 1)
      slope = p.broadcast_to(p.reshape(in[1], {1}), shape);
    else if (gamma.rank() == 1 && shape.rank() > 1 && gamma[0] == shape[1])
      slope = p.broadcast_along(in[1], shape, 1);
    else
      slope = p.broadcast_to(in[1], shape);
    return {where_positive(p, x, x, p.mul(x, slope))};
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
  Value spread(Primitives& p, Value r) const { return p.broadcast_to(p.keep_dims(r, shape, axes), shape); }
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
    Value length = s.spread(p, convert(p, in[1], DType::i64));
    s.alive = p.compare(Compare::lt, p.iota({DType::i64, s.shape}, axis), length);
    x = p.select(s.alive, x, p.like(x, -std::numeric_limits<double>::infinity()));
  }
  s.x = below_largest(p, x, s.axes);
  return s;
}
Value finish(Primitives& p, const Shifted& s, Value y, Value input, const Attrs& a, double dead) {
  if (s.alive.valid()) y = p.select(s.alive, y, p.like(y, dead));
  return convert(p, y, a.is_none("dtype") ? p.dtype(input) : a.dtype("dtype"));
}
template <bool negate>
Values softmax(Primitives& p, Args in, const Attrs& a) {
  Shifted s = shifted(p, in, a, negate);
  Value e = p.unary(Unary::exp_nonpositive, s.x);
  return {finish(p, s, over_sum(p, e, s.axes), in[0], a, 0)};
}
Values log_softmax(Primitives& p, Args in, const Attrs& a) {
  Shifted s = shifted(p, in, a, false);
  Value total = p.reduce(Reduce::sum, p.unary(Unary::exp_nonpositive, s.x), s.axes);
  return {finish(p, s, p.sub(s.x, s.spread(p, p.unary(Unary::log, total))), in[0], a, 0)};
}
std::size_t softmax_inputs(const Attrs& a) {
  return !a.is_none("use_length") && a.boolean("use_length") ? 2 : 1;
}
void softmax_shape(ShapeFacts& f, const Attrs& a) {
  f.same(f.in[0], f.out[0]);
  if (f.in.size() > 1) without_axis(f, f.in[0], f.in[1], a.integer("axis"));
}
Values softmax_activation(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  Shape axes = a.word("mode") == "channel" ? Shape{1} : other_axes({0}, shape.rank());
  Value x = widen(p, in[0]);
  return {convert(p, softmax_over(p, x, axes), p.dtype(in[0]))};
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
                  {"relu", "sigmoid", "softrelu", "softsign", "tanh"}}},
       .compose = activation,
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
       .shape_rule = leaky_shape,
       .train_sensitive = true},
      {.name = "softmax",
       .aliases = {"_npx_softmax"},
       .summary = "exp(x) / sum(exp(x)) over an axis.",
       .inputs = {"data", "length"},
       .active_inputs = softmax_inputs,
       .attrs = softmax_attrs,
       .compose = softmax<false>,
       .shape_rule = softmax_shape},
      {.name = "softmin",
       .summary = "Softmax of -x.",
       .inputs = {"data", "length"},
       .active_inputs = softmax_inputs,
       .attrs = softmax_attrs,
       .compose = softmax<true>,
       .shape_rule = softmax_shape},
      {.name = "log_softmax",
       .aliases = {"_npx_log_softmax"},
       .summary = "The logarithm of softmax.",
       .inputs = {"data", "length"},
       .active_inputs = softmax_inputs,
       .attrs = softmax_attrs,
       .compose = log_softmax,
       .shape_rule = softmax_shape},
      {.name = "SoftmaxActivation",
       .summary = "Softmax over all axes but the first, or over the channels.",
       .inputs = {"data"},
       .attrs = {word_attr("mode", "instance", {"channel", "instance"})},
       .compose = softmax_activation,
       .shape_rule = elementwise_shape},
  };
  return rows;
}

}  // namespace kiln::ops
