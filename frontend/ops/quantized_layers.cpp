// Quantised layers: FullyConnected, Convolution, Pooling, BatchNorm and Embedding of 8-bit integers.
#include "frontend/ops/layers.h"
#include "frontend/ops/quantized.h"
#include "frontend/ops/reference.h"

#include <cmath>

namespace kiln::ops {
namespace {

// Layers with weights. Inputs: data, weight, bias, then the ends of the range of each of them.

std::vector<std::string_view> weighted_names(const Attrs& a) {
  if (a.boolean("no_bias")) return {"data", "weight", "min_data", "max_data", "min_weight", "max_weight"};
  return {"data",       "weight",     "bias",     "min_data", "max_data",
          "min_weight", "max_weight", "min_bias", "max_bias"};
}
/// The number of arrays, which precede their ranges.
std::size_t weighted_arrays(const Attrs& a) { return inputs_with_bias(a); }
std::optional<DType> dtype_of_weighted(std::size_t input, const Attrs& a) {
  return input < weighted_arrays(a) ? DType::i8 : DType::f32;
}

/// The checked inputs of a layer with weights.
struct Weighted {
  Value data, weight, bias;  // no bias: invalid
  Value data_magnitude, weight_magnitude, bias_magnitude;
};
Weighted weighted_inputs(Primitives& p, Args in, const Attrs& a) {
  const std::size_t arrays = weighted_arrays(a);
  const auto magnitude_of = [&](std::size_t i, std::string_view name) {
    return magnitude(p, range_of(p, in[arrays + 2 * i], in[arrays + 2 * i + 1], name));
  };
  require_dtype(p, in[0], "data", {DType::i8, DType::u8});
  require_dtype(p, in[1], "weight", {DType::i8});
  Weighted w{in[0], in[1], {}, magnitude_of(0, "data"), magnitude_of(1, "weight"), {}};
  if (a.boolean("no_bias")) return w;
  require_dtype(p, in[2], "bias", {DType::i8});
  w.bias = in[2];
  w.bias_magnitude = magnitude_of(2, "bias");
  return w;
}

/// The bias in units of the sums of products (int32), truncated.
Value bias_in_sums(Primitives& p, const Weighted& w) {
  const Value per_number = p.mul(scale_to(p, half_levels(p.dtype(w.data)), w.data_magnitude),
                                 scale_to(p, half_levels(DType::i8), w.weight_magnitude));
  const Value factor = p.mul(per_number, scale_from(p, half_levels(DType::i8), w.bias_magnitude));
  return saturated(p, p.unary(Unary::trunc, rescaled(p, w.bias, factor)), DType::i32);
}

/// The results of a layer: int32 sums of products with channels along axis 1, the bias added; their range.
Values with_bias_and_range(Primitives& p, Value sums, const Weighted& w) {
  if (w.bias.valid()) sums = p.add(sums, p.broadcast_along(bias_in_sums(p, w), p.shape(sums), 1));
  const Value per_sum = p.mul(scale_from(p, whole_levels(p.dtype(w.data)), w.data_magnitude),
                              scale_from(p, whole_levels(DType::i8), w.weight_magnitude));
  const QuantizedRange range = symmetric(p, p.mul(per_sum, p.like(per_sum, whole_levels(DType::i32))));
  return {sums, range.min, range.max};
}

Values quantized_fully_connected(Primitives& p, Args in, const Attrs& a) {
  const Weighted w = weighted_inputs(p, in, a);
  const DenseCall call = dense_call(p, w.data, w.weight, a);
  Values out = with_bias_and_range(p, int8_dot(p, call.rows, w.weight, {.transpose_rhs = true}), w);
  out[0] = p.reshape(out[0], call.result);
  return out;
}
void quantized_fully_connected_shape(ShapeFacts& f, const Attrs& a) {
  fully_connected_shape(f, a);
  ranges_are_single(f, weighted_arrays(a));
}

Values quantized_conv(Primitives& p, Args in, const Attrs& a) {
  const Weighted w = weighted_inputs(p, in, a);
  const ir::ConvSpec spec = convolution_call(p, w.data, w.weight, a);
  return with_bias_and_range(p, int8_convolution(p, w.data, w.weight, spec), w);
}
void quantized_conv_shape(ShapeFacts& f, const Attrs& a) {
  convolution_shape(f, a);
  ranges_are_single(f, weighted_arrays(a));
}

// Layers whose range passes through.

Values quantized_pooling(Primitives& p, Args in, const Attrs& a) {
  require_dtype(p, in[0], "data", {DType::i8, DType::u8});
  const QuantizedRange range = range_of(p, in[1], in[2], "data");
  const DType d = p.dtype(in[0]);
  if (a.word("pool_type") == "max") return {pooled(p, in[0], a), range.min, range.max};
  const Value averages = pooled(p, p.cast(in[0], DType::f32), a);
  return {saturated(p, averages, d), range.min, range.max};
}
void quantized_pooling_shape(ShapeFacts& f, const Attrs& a) {
  pooling_shape(f, a);
  ranges_are_single(f, 1);
}

Values quantized_embedding(Primitives& p, Args in, const Attrs& a) {
  require_dtype(p, in[1], "weight", {DType::i8, DType::u8});
  const QuantizedRange range = range_of(p, in[2], in[3], "weight");
  return {embedded_rows(p, in[0], in[1], a), range.min, range.max};
}
void quantized_embedding_shape(ShapeFacts& f, const Attrs& a) {
  embedding_shape(f, a);
  ranges_are_single(f, 2);
}
std::optional<DType> dtype_of_table_or_range(std::size_t input, const Attrs&) {
  return input == 1 ? DType::i8 : DType::f32;
}

// BatchNorm.

/// By channel, integers are multiplied by `slope`, and `shift` is added.
Values quantized_batch_norm(Primitives& p, Args in, const Attrs& a) {
  require_dtype(p, in[0], "data", {DType::i8, DType::u8});
  for (std::size_t i = 1; i < 5; ++i)
    require_dtype(p, in[i], "a parameter or a moving statistic", {DType::f32});
  const std::optional<CalibratedRange> known = calibrated_range(a);
  if (!known) fail("needs a calibrated range: give min_calib_range and max_calib_range");
  const Value from = magnitude(p, range_of(p, in[5], in[6], "data")),
              to = magnitude(p, constant_range(p, known->min, known->max));
  const Shape shape = p.shape(in[0]);
  const int axis = axis_of(a.integer("axis"), shape.rank());
  const Value mean = in[3], variance = in[4], beta = in[2];
  const auto each = [&](Value one) { return p.broadcast_to(one, p.shape(mean)); };

  const double eps = a.real("eps");
  const Value deviation = p.unary(Unary::sqrt, p.add(variance, p.like(variance, eps)));
  const Value factor = p.div(a.boolean("fix_gamma") ? p.like(in[1], 1) : in[1], deviation);
  // oneDNN normalises by the mean 0 and the variance 1, to which eps is added once more.
  const float once_more = std::sqrt(1.0f + static_cast<float>(eps));
  const Value slope =
      p.div(p.div(p.mul(factor, each(from)), each(to)), p.like(factor, static_cast<double>(once_more)));
  const Value offset = p.sub(beta, p.mul(mean, factor));
  const Value shift = p.div(p.mul(offset, p.like(offset, half_levels(DType::i8))), each(to));

  Value x = p.cast(in[0], DType::f32);
  if (p.dtype(in[0]) == DType::u8)  // as int8, of half as many levels
    x = p.unary(Unary::rint, p.mul(x, p.like(x, half_levels(DType::i8) / half_levels(DType::u8))));
  Value y = p.add(p.mul(x, p.broadcast_along(slope, shape, axis)), p.broadcast_along(shift, shape, axis));
  if (known->min == 0 && known->max == 0) y = p.like(y, 0);
  return {saturated(p, y, DType::i8), p.full({DType::f32, {1}}, known->min),
          p.full({DType::f32, {1}}, known->max), Value{}, Value{}};
}
void quantized_batch_norm_shape(ShapeFacts& f, const Attrs& a) {
  f.same(f.in[0], f.out[0]);
  const auto axis = axis_in(a.integer("axis"), f.in[0].extents.rank());
  for (std::size_t i = 1; i < 5; ++i) {
    f.rank(f.in[i], 1);
    if (axis) f.same(Axis{f.in[0], *axis}, Axis{f.in[i], 0});
    f.same(Axis{f.in[1], 0}, Axis{f.in[i], 0});
  }
  ranges_are_single(f, 5);
}

/// The attributes of a float operator.
std::vector<AttrSpec> attrs_of(std::span<const OpDef> family, std::string_view op) {
  for (const OpDef& row : family)
    if (row.name == op) return row.attrs;
  return {};
}
/// Without some attributes, which others replace.
std::vector<AttrSpec> replaced(std::vector<AttrSpec> attrs, const std::vector<AttrSpec>& by) {
  for (AttrSpec& spec : attrs)
    for (const AttrSpec& other : by)
      if (spec.name == other.name) spec = other;
  return attrs;
}
std::vector<AttrSpec> pooling_attrs() {
  return replaced(
      attrs_of(pooling_ops(), "Pooling"),
      {word_attr("pool_type", "max", {"avg", "max"}, "The reduction."),
       ignored(or_none("p_value", AttrKind::integer, "The p of a p-norm."), "only Pooling has p-norms")});
}
std::vector<AttrSpec> normalisation_attrs() {
  constexpr std::string_view moving = "the moving statistics normalise in training too, and stay";
  std::vector<AttrSpec> attrs = attrs_of(batch_norm_ops(), "BatchNorm");
  for (AttrSpec& spec : attrs)
    if (spec.name == "momentum" || spec.name == "use_global_stats" || spec.name == "output_mean_var")
      spec.ignored = moving;
  return replaced(std::move(attrs), with_calibration({}));
}

constexpr OpReference weighted_quantized_reference =
    quantized_reference |
    OpReference{
        .dtypes =
            "Int8 or uint8 for data; weight and bias are int8, ranges float32. The result is int32, its "
            "range float32.",
        .integers = "Products and sums are exact, and wrap modulo 2^32. The bias is truncated to an integer.",
    };

}  // namespace

std::span<const OpDef> quantized_layer_ops() {
  static const std::vector<std::string_view> weighted_inputs{
      "data", "weight", "bias", "min_data", "max_data", "min_weight", "max_weight", "min_bias", "max_bias"};
  static const std::vector<OpDef> rows{
      {.name = "_contrib_quantized_fully_connected",
       .summary = "FullyConnected of 8-bit integers, with int32 sums.",
       .reference =
           weighted_quantized_reference |
           OpReference{
               .shapes =
                   "data (N, ...), weight (O, K), bias (O), min_data (1), max_data (1), min_weight (1), "
                   "max_weight (1), min_bias (1), max_bias (1) -> (N, O), min (1), max (1). K is the "
                   "number of elements of a row of data. With flatten=False data (..., K) -> (..., O). "
                   "With no_bias there is neither bias nor its range.",
               .empty = "No rows give no rows. With K = 0 the result is the bias, or 0 without one.",
               .formula = "y[n, o] = sum over k of data[n, k] weight[o, k] + trunc(bias[o] (Hd / rd) (127.5 "
                          "/ rw) (rb / "
                          "127.5)). r of a range is max(|min|, |max|), 1 / r is 0 for r = 0. Hd = 127.5, of "
                          "uint8 data "
                          "255.5. max = 2^31 (rd / Ld) (rw / 127), Ld = 127, of uint8 data 255; min = -max.",
               .source =
                   "MXNet 1.9.1 (src/operator/quantization/mkldnn/mkldnn_quantized_fully_connected.cc). "
                   "There a range of 0 gives the bias the least int32.",
           },
       .inputs = weighted_inputs,
       .active_names = weighted_names,
       .attrs = attrs_of(nn_ops(), "FullyConnected"),
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = {"output", "min_output", "max_output"},
       .compose = quantized_fully_connected,
       .stops_gradient = true,
       .shape_rule = quantized_fully_connected_shape,
       .undeclared_dtype = dtype_of_weighted},
      {.name = "_contrib_quantized_conv",
       .summary = "Convolution of 8-bit integers, with int32 sums.",
       .reference =
           weighted_quantized_reference |
           OpReference{
               .shapes =
                   "data (N, C, H, W), weight (O, C/g, kH, kW), bias (O), min_data (1), max_data (1), "
                   "min_weight (1), max_weight (1), min_bias (1), max_bias (1) -> (N, O, H', W'), min "
                   "(1), max (1), g groups. H' = floor((H + 2 pad - dilate (kH - 1) - 1) / stride) + 1, "
                   "and W' likewise. In one dimension (N, C, W), in three (N, C, D, H, W). With no_bias "
                   "there is neither bias nor its range.",
               .empty = "No samples give no samples. Without channels the result is the bias, or 0 without "
                        "one. A window larger than the padded data throws, and so does data without elements "
                        "along a spatial axis.",
               .formula =
                   "y[n, o, i, j] = sum over c, p, q of data[n, c, h, w] weight[o, c, p, q] + the bias. h "
                   "= i stride - pad + p dilate and w = j stride - pad + q dilate. The bias and the "
                   "range are the ones of _contrib_quantized_fully_connected.",
               .source =
                   "MXNet 1.9.1 (src/operator/quantization/mkldnn/mkldnn_quantized_conv.cc), which on the "
                   "cpu refuses int8 data, adds the bias without its scale, and gives uint8 data the "
                   "range of int8.",
           },
       .inputs = weighted_inputs,
       .active_names = weighted_names,
       .attrs = attrs_of(conv_ops(), "Convolution"),
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = {"output", "min_output", "max_output"},
       .compose = quantized_conv,
       .stops_gradient = true,
       .shape_rule = quantized_conv_shape,
       .undeclared_dtype = dtype_of_weighted},
      {.name = "_contrib_quantized_pooling",
       .summary = "Pooling of 8-bit integers to maxima or averages; their range stays.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes =
                   "data (N, C, H, W), min_data (1), max_data (1) -> (N, C, H', W'), min (1), max (1). H' "
                   "= floor((H + 2 pad - kH) / stride) + 1, and W' likewise; rounded up with "
                   "pooling_convention=full. With global_pool (N, C, 1, 1). One to three spatial axes.",
               .nan = "There is none in integers. A NaN in the range stays.",
               .ties = "Halves of averages are rounded to even.",
               .empty = "No samples or channels give none. A global maximum of no elements is the least "
                        "integer, an average the greatest of int8, 0 of uint8.",
               .integers = "Maxima are exact. Averages are computed in float32, and rounded once more.",
               .formula =
                   "max: max of data. avg: sum of data / n, rounded. The window, its padding and n are the "
                   "ones of Pooling. min, max: min_data, max_data.",
               .source = "MXNet 1.9.1 (src/operator/quantization/quantized_pooling.cc). One spatial axis is "
                         "accepted too.",
           },
       .inputs = {"data", "min_data", "max_data"},
       .attrs = pooling_attrs(),
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = {"output", "min_output", "max_output"},
       .compose = quantized_pooling,
       .stops_gradient = true,
       .shape_rule = quantized_pooling_shape,
       .undeclared_dtype = dtype_before_range},
      {.name = "_contrib_quantized_batch_norm",
       .summary = "BatchNorm of 8-bit integers by moving statistics, with a calibrated result.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes =
                   "data (N, C, ...), gamma (C), beta (C), moving_mean (C), moving_var (C), min_data (1), "
                   "max_data (1) -> (N, C, ...), min (1), max (1). axis names the axis C.",
               .dtypes =
                   "Int8 or uint8 for data; the other inputs are float32. The result is int8, its range "
                   "float32.",
               .nan =
                   "A NaN in a parameter, a statistic or the range of data gives 127 in its channel, or in "
                   "all.",
               .ties = "Halves are rounded to even.",
               .integers =
                   "uint8 data is first rounded to as many levels as int8 has: to data 127.5 / 255.5.",
               .formula =
                   "y = data s + t, rounded and clipped to int8. s = a (r / R) / sqrt(1 + eps), t = (beta - "
                   "moving_mean a) 127.5 / R, a = gamma / sqrt(moving_var + eps). r is the largest of "
                   "|min_data| and |max_data|, R of the calibrated range; for R = 0 y = 0.",
               .source =
                   "MXNet 1.9.1 (src/operator/quantization/mkldnn/mkldnn_quantized_batch_norm.cc), which "
                   "adds eps twice as here. There fix_gamma has no effect, and axis must be 1.",
           },
       .inputs = {"data", "gamma", "beta", "moving_mean", "moving_var", "min_data", "max_data"},
       .attrs = normalisation_attrs(),
       .aux = {3, 4},
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = {"output", "min_output", "max_output"},
       .compose = quantized_batch_norm,
       .stops_gradient = true,
       .shape_rule = quantized_batch_norm_shape,
       .undeclared_dtype = dtype_before_range},
      {.name = "_contrib_quantized_embedding",
       .summary = "Looks up the rows of a quantised weight that the indices in data name.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes =
                   "data (...), weight (V, D), min_weight (1), max_weight (1) -> (..., D), min (1), max (1).",
               .dtypes =
                   "Any for the indices in data; weight is int8 or uint8, and the result has its dtype. "
                   "Ranges are float32.",
               .nan = "A NaN index is taken for 0. A NaN in the range stays.",
               .empty = "No indices give no rows.",
               .integers =
                   "Rows are copied. Fractions of indices are cut off; an index below 0 is 0, one above "
                   "V - 1 is V - 1. Under KILN_CHECK=indices such an index throws.",
               .formula = "y[..., d] = weight[clip(trunc(data[...]), 0, V - 1), d]. min, max: min_weight, "
                          "max_weight.",
               .source =
                   "MXNet 1.9.1 (src/operator/quantization/quantized_indexing_op.cc). uint8 weights are "
                   "accepted too.",
           },
       .inputs = {"data", "weight", "min_weight", "max_weight"},
       .attrs = replaced(attrs_of(nn_ops(), "Embedding"),
                         {ignored(meaning(dtype_attr("float32"), "MXNet's dtype of the dequantised weight."),
                                  "the weight's own dtype is the result's")}),
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = {"output", "min_output", "max_output"},
       .compose = quantized_embedding,
       .stops_gradient = true,
       .shape_rule = quantized_embedding_shape,
       .undeclared_dtype = dtype_of_table_or_range},
  };
  return rows;
}

}  // namespace kiln::ops
