// The quantised forms of the convolutions and dense layers that MXNet fused.
#include "frontend/ops/fused_parts.h"
#include "frontend/ops/quantized.h"
#include "frontend/ops/windows.h"
#include "ir/compose.h"

#include <algorithm>
#include <cmath>

// Every rounding is that of MXNet's int8 kernels: sums in int32, all else in float32.

namespace kiln::ops {
namespace {

using ir::Node;
using ir::Subgraph;

constexpr double two_to_30 = 1 << 30, two_to_31 = 2 * two_to_30;

/// The inputs of a node, one after the other.
class FusedInputs {
 public:
  explicit FusedInputs(Args in) : in_(in) {}
  Value next() { return in_[at_++]; }
  QuantizedRange range(Primitives& p, std::string_view name) {
    const Value min = next();
    return range_of(p, min, next(), name);
  }

 private:
  Args in_;
  std::size_t at_ = 0;
};

/// levels / r. Of an empty range it is a large number, so that the scaled bias is not lost.
Value fused_scale(Primitives& p, double levels, Value r) {
  return p.select(p.compare(Compare::eq, r, p.like(r, 0)), p.like(r, two_to_31), p.div(p.like(r, levels), r));
}

/// v, one number or one by element of the axis, for each element of the shape.
Value along(Primitives& p, Value v, const Shape& to, int axis) { return p.broadcast_along(v, to, axis); }
/// x * v and x / v of a vector x and one number v, or two vectors.
Value times_number(Primitives& p, Value x, Value v) { return p.mul(x, along(p, v, p.shape(x), 0)); }
Value over_number(Primitives& p, Value x, Value v) { return p.div(x, along(p, v, p.shape(x), 0)); }

/// x (float32) as int32, rounded and clipped to the float32 numbers that fit; still float32.
Value integral(Primitives& p, Unary round, Value x) {
  const Value rounded = p.unary(round, x);
  const Value low = p.binary(Binary::max, rounded, p.like(x, -two_to_31));
  return p.binary(Binary::min, low, p.like(x, two_to_31 - 128));  // the next float32 is 2^31
}

/// The shape of the subgraph's result. Throws for inputs that do not fit, as the float32 form does.
Shape shape_of_result(Primitives& p, Args in, const Subgraph& body) {
  ir::ShapeInference shapes(/*train=*/false);
  Values values;
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    values.push_back(shapes.input({DType::f32, p.shape(in[i])}));
  return shapes.shape(compose(shapes, body, values)[0]);
}

/// The result of an activation is at least 0 and has a dtype without a sign. As in MXNet, a dense layer takes
/// `leaky` for such a one.
bool is_unsigned(const Node* activation, bool of_dense) {
  if (!activation) return false;
  const std::string_view op = activation->op->name;
  const Attrs& a = activation->attrs;
  if (op == "Activation") return a.word("act_type") != "tanh";
  if (op == "LeakyReLU") return a.word("act_type") == "leaky" && (of_dense || a.real("slope") == 0);
  return true;
}

Value activated(Primitives& p, const Node& activation, Value x) {
  const Value in[] = {x};
  return compose(p, activation, in)[0];
}

/// A weight in float32 with its bias, which may be invalid, and its scale: integers per unit, by channel or
/// for all.
struct ScaledWeight {
  Value weight, bias, scale;
};

Value greatest_magnitude(Primitives& p, Value x, const Shape& axes) {
  return p.reduce(Reduce::max, p.unary(Unary::abs, x), axes);
}

/// The scale of each channel: 127.5 levels for its greatest magnitude, fewer where the scaled bias would
/// exceed 2^30.
Value channel_scales(Primitives& p, Value weight, Value bias, Value data_scale) {
  Shape axes;
  for (int i = 1; i < p.shape(weight).rank(); ++i) axes.push_back(i);
  const Value scale = fused_scale(p, half_levels(DType::i8), greatest_magnitude(p, weight, axes));
  if (!bias.valid()) return scale;
  const Value limit = over_number(p, p.div(p.like(bias, two_to_30), p.unary(Unary::abs, bias)), data_scale);
  return p.select(p.compare(Compare::eq, bias, p.like(bias, 0)), scale, p.binary(Binary::min, scale, limit));
}

/// The weight in int8. As in MXNet, the filters of group g have the scale of filter g: other integers than
/// their own scale, by which the result is divided, would give.
Value quantized_weight(Primitives& p, const ScaledWeight& w, std::int64_t groups = 1) {
  const Shape shape = p.shape(w.weight);
  Value scale = w.scale;
  if (groups > 1 && p.shape(scale)[0] == shape[0])
    scale =
        p.reshape(along(p, p.slice(scale, {0}, {groups}, {1}), {groups, shape[0] / groups}, 0), {shape[0]});
  return saturated(p, p.mul(w.weight, along(p, scale, shape, 0)), DType::i8);
}
/// The bias in units of the sums, integers in float32.
Value quantized_bias(Primitives& p, const ScaledWeight& w, Value data_scale) {
  const Value scale = times_number(p, w.scale, data_scale);
  return integral(p, Unary::rint, times_number(p, w.bias, scale));
}
/// Sums of a contraction (rows, channels, ...) in float32, with the bias added.
Value with_bias(Primitives& p, Value sums, Value bias) {
  const Value q = convert(p, sums, DType::f32);
  return bias.valid() ? p.add(q, along(p, bias, p.shape(q), 1)) : q;
}

/// y in dtype `to`: rounded, and clipped to the dtype `within`.
Value rounded_to(Primitives& p, Value y, DType within, DType to) {
  if (to == DType::i32) return p.cast(integral(p, Unary::rint, y), to);
  return convert(p, saturated(p, y, within), to);
}

/// The range of int32 sums of products, by the magnitudes of both operands and their levels.
QuantizedRange range_of_sums(Primitives& p, Value a, double levels_a, Value b, double levels_b) {
  const Value unit = p.mul(scale_from(p, levels_a, a), scale_from(p, levels_b, b));
  return symmetric(p, p.mul(unit, p.like(unit, two_to_31)));
}

void require_float(Primitives& p, Value x, std::string_view name) {
  if (p.dtype(x) != DType::f32)
    fail("{} must be float32, the call quantises it; it is {}", name, name_of(p.dtype(x)));
}

/// The weight and the bias of a convolution, with the batch normalisation in both.
ScaledWeight normalized_weight(Primitives& p, FusedInputs& inputs, const FusedParts& parts) {
  ScaledWeight w{inputs.next(), parts.has_bias() ? inputs.next() : Value{}, {}};
  require_float(p, w.weight, "weight");
  if (w.bias.valid()) require_float(p, w.bias, "bias");
  if (!parts.norm) return w;
  const Value gamma = inputs.next(), beta = inputs.next(), mean = inputs.next(), variance = inputs.next();
  for (const auto& [name, x] :
       {std::pair{"gamma", gamma}, {"beta", beta}, {"moving_mean", mean}, {"moving_var", variance}})
    require_float(p, x, name);
  const Attrs& a = parts.norm->attrs;
  const auto wide = [&](Value x) { return p.cast(x, DType::f64); };
  const Value spread = p.add(wide(variance), p.like(wide(variance), a.real("eps")));
  const Value one = a.boolean("fix_gamma") ? p.like(spread, 1) : wide(gamma);
  const Value factor = p.cast(p.div(one, p.unary(Unary::sqrt, spread)), DType::f32);
  w.bias =
      w.bias.valid() ? p.add(beta, p.mul(factor, p.sub(w.bias, mean))) : p.sub(beta, p.mul(factor, mean));
  w.weight = p.mul(w.weight, along(p, factor, p.shape(w.weight), 0));
  return w;
}

/// The activations that MXNet has in a quantised convolution.
void require_activations(const FusedParts& parts) {
  const auto refuse = [](const Node& node, std::string_view place) {
    fail("'{}' ({}) {} elemwise_add cannot be quantised; MXNet takes relu and leaky there", node.name,
         node.op_name, place);
  };
  if (parts.sum && parts.activation && parts.activation->op->name == "clip")
    refuse(*parts.activation, "before");
  if (!parts.after_sum) return;
  const Attrs& a = parts.after_sum->attrs;
  const std::string_view op = parts.after_sum->op->name;
  if (op == "clip" || (a.word("act_type") != "relu" && a.word("act_type") != "leaky"))
    refuse(*parts.after_sum, "after");
}

}  // namespace

Values quantized_convolution(Primitives& p, Args in, const Attrs& a, const Subgraph& body) {
  const FusedParts parts = fused_convolution(a, body);
  require_activations(parts);
  (void)shape_of_result(p, in, body);
  FusedInputs inputs(in);
  const Value data = inputs.next();
  require_dtype(p, data, "data", {DType::i8, DType::u8});
  ScaledWeight w = normalized_weight(p, inputs, parts);
  const Value summand = parts.sum ? inputs.next() : Value{};
  const QuantizedRange range = inputs.range(p, "data");
  const Value data_size = magnitude(p, range);
  const Value data_scale = fused_scale(p, half_levels(p.dtype(data)), data_size);

  const std::optional<CalibratedRange> calibrated = calibrated_range(a);
  const Value flat = p.reshape(w.weight, {1, p.shape(w.weight).elements()});
  const Value weight_size = calibrated ? Value{} : greatest_magnitude(p, flat, {1});
  w.scale = calibrated ? channel_scales(p, w.weight, w.bias, data_scale)
                       : fused_scale(p, half_levels(DType::i8), weight_size);
  const ir::ConvSpec spec = conv_spec(parts.linear->attrs);
  const Value sums = int8_convolution(p, data, quantized_weight(p, w, spec.groups), spec);
  Value y = with_bias(p, sums, w.bias.valid() ? quantized_bias(p, w, data_scale) : Value{});

  const bool positive = is_unsigned(parts.sum ? parts.after_sum : parts.activation, false);
  const DType own = !calibrated ? DType::i32 : positive ? DType::u8 : DType::i8;
  const QuantizedRange result = calibrated ? constant_range(p, calibrated->min, calibrated->max)
                                           : range_of_sums(p, weight_size, whole_levels(DType::i8), data_size,
                                                           whole_levels(p.dtype(data)));
  const Value result_scale =
      calibrated ? fused_scale(p, half_levels(own), magnitude(p, result)) : p.mul(data_scale, w.scale);
  if (calibrated) {
    const Value factor =
        over_number(p, along(p, p.div(result_scale, data_scale), p.shape(w.scale), 0), w.scale);
    y = p.mul(y, along(p, factor, p.shape(y), 1));
  }
  // A clip without a sum is left to the bounds of uint8.
  if (parts.activation && parts.activation->op->name != "clip") y = activated(p, *parts.activation, y);
  if (!parts.sum) return {rounded_to(p, y, own, own), result.min, result.max};

  require_dtype(p, summand, "the summand", {DType::i8, DType::u8});
  const DType within = p.dtype(summand);
  const Value summand_scale = fused_scale(p, half_levels(within), magnitude(p, inputs.range(p, "summand")));
  const Value ratio = p.broadcast_along(p.div(result_scale, summand_scale), p.shape(y), 0);
  y = p.fma(convert(p, summand, DType::f32), ratio, y);
  if (parts.after_sum) y = activated(p, *parts.after_sum, y);
  return {rounded_to(p, y, within, own), result.min, result.max};
}

namespace {

/// The integers of a dense layer's weight and bias, both stored as int8. Where the bias in units of the sums
/// would exceed 2^30, the weight has fewer levels.
struct DenseIntegers {
  Value weight, bias, scale;
};
DenseIntegers stored_integers(Primitives& p, Value weight, Value bias, FusedInputs& inputs,
                              Value data_scale) {
  constexpr DType i8 = DType::i8;
  require_dtype(p, weight, "weight", {i8});
  const Value scale = fused_scale(p, half_levels(i8), magnitude(p, inputs.range(p, "weight")));
  if (!bias.valid()) return {weight, bias, scale};
  require_dtype(p, bias, "bias", {i8});
  const Value size = magnitude(p, inputs.range(p, "bias")),
              bias_scale = fused_scale(p, half_levels(i8), size);
  const Value wanted = p.div(p.mul(data_scale, scale), bias_scale);
  const Value greatest = p.div(p.div(p.like(size, two_to_30), size), bias_scale);
  const Value exceeds = p.compare(Compare::gt, wanted, greatest);
  const Value factor = p.select(exceeds, greatest, wanted);
  const Value part = p.div(p.div(p.mul(factor, bias_scale), data_scale), scale);
  const Value fewer = p.cast(p.unary(Unary::round, rescaled(p, weight, part)), i8);
  return {p.select(p.broadcast_along(p.reshape(exceeds, {1}), p.shape(weight), 0), fewer, weight),
          integral(p, Unary::round, rescaled(p, bias, factor)), p.select(exceeds, p.mul(scale, part), scale)};
}

}  // namespace

Values quantized_dense(Primitives& p, Args in, const Attrs& a, const Subgraph& body) {
  const FusedParts parts = fused_dense(a, body);
  const Shape shape = shape_of_result(p, in, body);
  FusedInputs inputs(in);
  const Value data = inputs.next(), weight = inputs.next(), bias = parts.has_bias() ? inputs.next() : Value{};
  require_dtype(p, data, "data", {DType::i8, DType::u8});
  const Value data_size = magnitude(p, inputs.range(p, "data"));
  const Value data_scale = fused_scale(p, half_levels(p.dtype(data)), data_size);
  const bool as_float = a.boolean("enable_float_output");
  const std::optional<CalibratedRange> calibrated = calibrated_range(a);

  DenseIntegers w;
  QuantizedRange computed;
  if (weight_is_float(a)) {
    if (!calibrated && !as_float)
      fail("channel_wise_quantize needs min_calib_range and max_calib_range, or enable_float_output");
    require_float(p, weight, "weight");
    if (bias.valid()) require_float(p, bias, "bias");
    const ScaledWeight scaled{weight, bias, channel_scales(p, weight, bias, data_scale)};
    w = {quantized_weight(p, scaled), bias.valid() ? quantized_bias(p, scaled, data_scale) : bias,
         scaled.scale};
  } else {
    FusedInputs ranges(inputs);
    const Value weight_size = magnitude(p, ranges.range(p, "weight"));
    computed = range_of_sums(p, data_size, whole_levels(DType::i8), weight_size, whole_levels(p.dtype(data)));
    w = stored_integers(p, weight, bias, inputs, data_scale);
  }
  const Shape rows = p.shape(w.weight);
  const Value x = p.reshape(data, {Shape(shape.dims().first(shape.size() - 1)).elements(), rows[1]});
  Value y = with_bias(p, int8_dot(p, x, w.weight, {.transpose_rhs = true}), w.bias);

  const bool positive = is_unsigned(parts.activation, true);
  const DType own = as_float ? DType::f32 : !calibrated ? DType::i32 : positive ? DType::u8 : DType::i8;
  const QuantizedRange result = calibrated ? constant_range(p, calibrated->min, calibrated->max) : computed;
  Value after;  // a factor of the activation's result
  if (calibrated || as_float) {
    Value before = p.like(data_scale, 1);
    if (calibrated) {
      const Value scale =
          fused_scale(p, half_levels(own == DType::i8 ? own : DType::u8), magnitude(p, result));
      (parts.activation ? after : before) = scale;
    }
    const Value unit = p.div(before, data_scale);
    const Value factor = p.div(along(p, unit, p.shape(w.scale), 0), w.scale);
    y = p.mul(y, along(p, factor, p.shape(y), 1));
  }
  if (parts.activation) y = activated(p, *parts.activation, y);
  if (after.valid()) y = rescaled(p, y, after);
  y = p.reshape(as_float ? y : rounded_to(p, y, own, own), shape);
  if (as_float) return {y};
  return {y, result.min, result.max};
}

}  // namespace kiln::ops
