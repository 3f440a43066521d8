// Convolutions and dense layers that MXNet fused with the operators after them, in float32 and quantised.
#include "frontend/ops/fused_parts.h"
#include "frontend/ops/quantized.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"
#include "ir/compose.h"

namespace kiln::ops {
namespace {

using ir::Bodies;

bool is_quantized(const Attrs& a) { return a.boolean("quantized"); }

/// The variables of the subgraph, and two inputs for each of some ranges.
std::size_t convolution_inputs(const Attrs& a, Bodies bodies) {
  const FusedParts parts = fused_convolution(a, *bodies[0]);
  (void)calibrated_range(a);  // a file's mistake is told when the file is read
  const std::size_t ranges = is_quantized(a) ? (parts.sum ? 2 : 1) : 0;
  return bodies[0]->inputs.size() + 2 * ranges;
}
std::size_t dense_inputs(const Attrs& a, Bodies bodies) {
  (void)fused_dense(a, *bodies[0]);
  (void)calibrated_range(a);
  const std::size_t n = bodies[0]->inputs.size();
  const std::size_t ranges = is_quantized(a) ? (weight_is_float(a) ? 1 : n) : 0;
  return n + 2 * ranges;
}

/// The composition may be the first to see the inputs.
void require_inputs(Args in, std::size_t wanted) {
  if (in.size() != wanted)
    fail("it takes {} inputs with its attributes and its subgraph, got {}", wanted, in.size());
}

Values compose_convolution(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  require_inputs(in, convolution_inputs(a, bodies));
  if (is_quantized(a)) return quantized_convolution(p, in, a, *bodies[0]);
  p.set_train(false);  // the moving statistics, in training too; the scope of the node restores the mode
  return compose(p, *bodies[0], in);
}
Values compose_dense(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  require_inputs(in, dense_inputs(a, bodies));
  if (is_quantized(a)) return quantized_dense(p, in, a, *bodies[0]);
  return compose(p, *bodies[0], in);
}

/// The leading inputs are the variables of the subgraph, the others ranges.
void fused_shape(ShapeFacts& f, const Attrs&) {
  const ShapeFacts::Body& body = f.bodies[0];
  for (std::size_t i = 0; i < body.variables.size(); ++i) f.same(f.in[i], body.variables[i]);
  f.same(body.outputs[0], f.out[0]);
  ranges_are_single(f, body.variables.size());
}

int convolution_outputs(const Attrs& a) { return is_quantized(a) ? 3 : 1; }
int dense_outputs(const Attrs& a) { return is_quantized(a) && !a.boolean("enable_float_output") ? 3 : 1; }

std::optional<DType> convolution_dtype(std::size_t input, const Attrs& a, Bodies bodies) {
  if (!is_quantized(a)) return {};
  const bool is_summand = a.boolean("with_sum") && input + 1 == bodies[0]->inputs.size();
  return input == 0 || is_summand ? DType::i8 : DType::f32;
}
std::optional<DType> dense_dtype(std::size_t input, const Attrs& a, Bodies bodies) {
  if (!is_quantized(a)) return {};
  const bool is_integer = input == 0 || (input < bodies[0]->inputs.size() && !weight_is_float(a));
  return is_integer ? DType::i8 : DType::f32;
}

AttrSpec flag(std::string_view name, std::string_view sentence) { return bool_attr(name, false, sentence); }

}  // namespace

bool weight_is_float(const Attrs& a) { return !a.is_none("channel_wise_quantize"); }

std::span<const OpDef> fused_ops() {
  static constexpr OpReference family{
      .dtypes =
          "Any that the subgraph takes; it determines the dtype of the result. Quantised: data is int8 or "
          "uint8, ranges and float weights are float32. The result is uint8 after an activation without "
          "negative results and int8 otherwise, or int32 without a calibrated range.",
      .nan = "As in the operators of the subgraph. Quantised, data has no NaN.",
      .ties = "Quantised, halves are rounded to even.",
      .empty = "As in the operators of the subgraph.",
      .integers =
          "As in the operators of the subgraph. Quantised: sums of products are exact and wrap modulo 2^32; "
          "the rest is computed in float32, rounded to the nearest and clipped to the dtype.",
      .gradient = "None: zeros.",
  };
  static const AttrSpec quantized =
      bool_attr("quantized", false, "Whether data and the result are integers with ranges.");
  static const std::vector<OpDef> rows{
      {.name = "_sg_mkldnn_conv",
       .summary = "A convolution that MXNet fused with batch normalisation, a sum and activations: the "
                  "operators of a subgraph.",
       .reference =
           family |
           OpReference{
               .shapes = "data: the variables of the subgraph, which are data, weight, bias, gamma, beta, "
                         "moving_mean, moving_var and the summand as far as it has them, then ranges -> the "
                         "result of the subgraph. Quantised: ranges are min (1), max (1) of data and of the "
                         "summand; results are the convolution, min (1), max (1).",
               .formula =
                   "The subgraph: Convolution, BatchNorm with moving statistics, an activation, "
                   "elemwise_add, an activation. Quantised: w = weight gamma / sqrt(moving_var + eps), b = "
                   "beta + (bias - moving_mean) gamma / sqrt(moving_var + eps); d = levels / max(|min|, "
                   "|max|) of data, s[o] = 127.5 / max |w[o]|, and less where |b d s| would exceed 2^30; "
                   "levels are 127.5 of int8 and 255.5 of uint8. q = conv(data, round(w s)) + round(b d s). "
                   "Result: activation(q r / (d s)) + summand r / summand's levels * its range, r being "
                   "levels / range of the result; the activation is of these scaled numbers. Without a "
                   "calibrated range r = d s and s is one number for all channels.",
               .source = "MXNet 1.9.1 (src/operator/subgraph/mkldnn/mkldnn_conv.cc), as get_backend_symbol "
                         "and quantize_net write it. A quantised result with a summand is clipped to the "
                         "dtype of the summand, and then has the bits of its own dtype. The filters of group "
                         "g are rounded with s[g], those of one group with their own.",
           },
       .inputs = {"data"},
       .variadic = true,
       .attrs = with_calibration(
           {flag("with_bn", "Whether the subgraph has BatchNorm."),
            flag("with_act",
                 "Whether the subgraph has an activation before elemwise_add, or at the end without it."),
            flag("with_sum", "Whether the subgraph has elemwise_add."),
            flag("with_postsum_act", "Whether the subgraph has an activation after elemwise_add."),
            quantized}),
       .counted_outputs = convolution_outputs,
       .visible_outputs = convolution_outputs,
       .output_names = {"output", "output_min", "output_max"},
       .compose_with = compose_convolution,
       .bodies = 1,
       .inputs_with = convolution_inputs,
       .shows_aux = true,
       .stops_gradient = true,
       .shape_rule = fused_shape,
       .undeclared_dtype_with = convolution_dtype},
      {.name = "_sg_mkldnn_fully_connected",
       .summary = "A dense layer that MXNet fused with an activation: the operators of a subgraph.",
       .reference =
           family |
           OpReference{
               .shapes =
                   "data: the variables of the subgraph, which are data, weight and bias as far as it has "
                   "them, then ranges -> the result of the subgraph. Quantised: ranges are min (1), max (1) "
                   "of data, weight and bias, or of data alone with channel_wise_quantize; results are the "
                   "product and, unless it is float32, min (1), max (1).",
               .formula =
                   "The subgraph: FullyConnected and an activation. Quantised: d, s, t = levels / max(|min|, "
                   "|max|) of data, weight and bias; levels are 127.5 of int8 and 255.5 of uint8. q = data "
                   "weight^T + round(bias d s / t). Result: activation(q / (d s)) r, r being 1 for float32, "
                   "else levels / range of the result. Without a calibrated range it is activation(q). With "
                   "channel_wise_quantize weight and bias are float32 and quantised as in _sg_mkldnn_conv.",
               .source = "MXNet 1.9.1 (src/operator/subgraph/mkldnn/mkldnn_fc.cc), as get_backend_symbol and "
                         "quantize_net write it. MXNet keeps the scales of a node's first call, and changes "
                         "the weight in memory where it reduces s; Kiln does neither.",
           },
       .inputs = {"data"},
       .variadic = true,
       .attrs = with_calibration(
           {quantized,
            flag("enable_float_output", "Quantised: whether the result is float32, without a range."),
            flag("with_eltwise", "Whether the subgraph has an activation."),
            or_none("channel_wise_quantize", AttrKind::boolean,
                    "Quantised: whether weight and bias are float32. Any value but None counts as True.")}),
       .counted_outputs = dense_outputs,
       .visible_outputs = dense_outputs,
       .output_names = {"output", "min_output", "max_output"},
       .compose_with = compose_dense,
       .bodies = 1,
       .inputs_with = dense_inputs,
       .stops_gradient = true,
       .shape_rule = fused_shape,
       .undeclared_dtype_with = dense_dtype},
  };
  return rows;
}

}  // namespace kiln::ops
