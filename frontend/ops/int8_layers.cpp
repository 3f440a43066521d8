// Layers with int8 weights and floating-point data, as quantize() makes them: sums of integers, or of
// products of data and integers.
#include "frontend/ops/families.h"
#include "frontend/ops/layers.h"
#include "frontend/ops/quantized.h"
#include "frontend/ops/reference.h"

#include <cmath>

namespace kiln::ops {
namespace {

enum Int8Input : std::size_t { data_input, weight_input, step_input, bias_input };

void require_floating_data(Primitives& p, Value x) {
  if (!is_floating(p.dtype(x)))
    fail("data must have a floating-point dtype, got {}: convert it (astype, Cast)", name_of(p.dtype(x)));
}

float data_step(const Attrs& a) {
  const double given = a.real("data_step");
  const auto step = static_cast<float>(given);
  if (!std::isnormal(step) || !std::isnormal(1 / step) || step < 0)
    fail("data_step {} must be above 0, and it and its inverse normal numbers of float32", given);
  return step;
}

/// The integers that stand for x: x / data_step, rounded to the nearest one, halves to even, and clipped. NaN
/// is 0.
Value int8_data(Primitives& p, Value x, const Attrs& a) {
  require_floating_data(p, x);
  const DType to = a.word("data_dtype") == "uint8" ? DType::u8 : DType::i8;
  const Value wide = convert(p, x, DType::f32);
  const Value y = p.mul(wide, p.like(wide, 1 / data_step(a)));
  if (to == DType::u8) return saturated(p, y, to);
  // As in the weights, -128 is left out: the integers are symmetric.
  const Value q = p.unary(Unary::rint, y), greatest = p.like(y, whole_levels(to)),
              least = p.like(y, -whole_levels(to));
  const Value number = p.select(p.compare(Compare::eq, q, q), q, p.like(q, 0));
  const Value above = p.select(p.compare(Compare::gt, number, least), number, least);
  return p.cast(p.select(p.compare(Compare::lt, above, greatest), above, greatest), to);
}

void require_int8_weights(Primitives& p, Args in) {
  require_dtype(p, in[weight_input], "weight", {DType::i8});
  const Value steps = in[step_input];
  const Shape units{p.shape(in[weight_input])[0]};
  if (p.dtype(steps) != DType::f32 || p.shape(steps) != units)
    fail(
        "weight_step must be float32 of the shape {}, one step for each unit or channel, got {} of the shape "
        "{}",
        units.str(), name_of(p.dtype(steps)), p.shape(steps).str());
}

/// The layer's result from its sums, in floating point, and the factor of each unit or channel, axis 1 of the
/// sums.
Value from_sums(Primitives& p, Args in, Value sums, Value factors, const Attrs& a) {
  const Shape shape = p.shape(sums);
  const DType wide = p.dtype(sums);
  Value y = p.mul(sums, p.broadcast_along(convert(p, factors, wide), shape, 1));
  if (!a.boolean("no_bias")) {
    require_one_dtype(p, in[data_input], in[bias_input], "The layer");
    y = p.add(y, p.broadcast_along(convert(p, in[bias_input], wide), shape, 1));
  }
  return convert(p, y, p.dtype(in[data_input]));
}

/// The same from sums of integers alone.
Value from_integers(Primitives& p, Args in, Value sums, const Attrs& a) {
  const Value factors = p.mul(in[step_input], p.like(in[step_input], data_step(a)));
  return from_sums(p, in, convert(p, sums, DType::f32), factors, a);
}

Values int8_fully_connected(Primitives& p, Args in, const Attrs& a) {
  const DenseCall call = dense_call(p, int8_data(p, in[data_input], a), in[weight_input], a);
  require_int8_weights(p, in);
  const Value sums = int8_dot(p, call.rows, in[weight_input], {.transpose_rhs = true});
  return {p.reshape(from_integers(p, in, sums, a), call.result)};
}

/// Nothing may stand between the weight and its cast, and between the cast and the contraction: the code
/// generator then reads the weight in its own bytes.
Values int8_weight_fully_connected(Primitives& p, Args in, const Attrs& a) {
  const DenseCall call = dense_call(p, in[data_input], in[weight_input], a);
  require_floating_data(p, in[data_input]);
  require_int8_weights(p, in);
  const DType wide = p.dtype(in[data_input]) == DType::f64 ? DType::f64 : DType::f32;
  const Value sums =
      p.dot(convert(p, call.rows, wide), p.cast(in[weight_input], wide), {.transpose_rhs = true});
  return {p.reshape(from_sums(p, in, sums, in[step_input], a), call.result)};
}

Values int8_conv(Primitives& p, Args in, const Attrs& a) {
  const ir::ConvSpec spec = convolution_call(p, in[data_input], in[weight_input], a);
  require_int8_weights(p, in);
  const Value sums = int8_convolution(p, int8_data(p, in[data_input], a), in[weight_input], spec);
  return {from_integers(p, in, sums, a)};
}

std::size_t int8_inputs(const Attrs& a) { return a.boolean("no_bias") ? bias_input : bias_input + 1; }

/// The rule of the float layer, whose third input is the bias. The steps have its shape.
template <void (*rule)(ShapeFacts&, const Attrs&)>
void with_steps(ShapeFacts& f, const Attrs& a) {
  rule(f, a);
  f.rank(f.in[step_input], 1);
  f.same(Axis{f.in[weight_input], 0}, Axis{f.in[step_input], 0});
  if (!a.boolean("no_bias")) f.same(f.in[step_input], f.in[bias_input]);
}

std::optional<DType> int8_input_dtype(std::size_t input, const Attrs&) {
  if (input == weight_input) return DType::i8;
  return input == step_input ? std::optional(DType::f32) : std::nullopt;
}

/// The attributes of the float operator that its result depends on.
std::vector<AttrSpec> float_attrs(std::span<const OpDef> family, std::string_view op) {
  std::vector<AttrSpec> attrs;
  for (const OpDef& row : family)
    for (const AttrSpec& spec : row.attrs)
      if (row.name == op && spec.ignored.empty())
        attrs.push_back(spec.name == "no_bias" ? meaning(spec, "Whether there is no bias.") : spec);
  return attrs;
}

/// These, and the ones of the integers of data.
std::vector<AttrSpec> int8_attrs(std::span<const OpDef> family, std::string_view op) {
  std::vector<AttrSpec> attrs = float_attrs(family, op);
  attrs.push_back(required("data_step", AttrKind::real,
                           "The number that the integer 1 of data stands for, above 0. It is rounded to "
                           "float32, and its inverse too."));
  attrs.push_back(word_attr("data_dtype", "int8", {"int8", "uint8"},
                            "The integers of data: int8 from -127 to 127, uint8 from 0 to 255."));
  return attrs;
}

constexpr std::string_view int8_dense_shapes =
    "data (N, ...), weight (O, K), weight_step (O), bias (O) -> (N, O). K is the number of elements of a row "
    "of data. With flatten=False data (..., K) -> (..., O). With no_bias there is no bias.";
constexpr std::string_view int8_dense_empty =
    "No rows give no rows. With K = 0 the result is the bias, or 0 without one.";

/// Fields of the reference of layers that quantise data.
constexpr OpReference int8_reference{
    .dtypes =
        "Floating; data and bias have one dtype, which the result has too. weight is int8, weight_step "
        "float32. Each operation between data and the result is one of float32, rounded once.",
    .nan =
        "A NaN in data counts as 0, and infinities saturate. A NaN in weight_step or in bias makes the "
        "results of its unit or channel NaN.",
    .integers =
        "Of data an error. Sums are exact in int32. They wrap if the magnitudes of their products add "
        "up to 2^31 or more; 65,793 products cannot.",
    .gradient = "None: zeros.",
};

}  // namespace

std::span<const OpDef> int8_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_int8_fully_connected",
       .summary = "A dense layer of an int8 weight: quantises data, and adds products of 8-bit integers.",
       .reference =
           int8_reference |
           OpReference{
               .shapes = int8_dense_shapes,
               .empty = int8_dense_empty,
               .formula = "y[n, o] = s[n, o] (data_step weight_step[o]) + bias[o], s[n, o] = sum over k of "
                          "q[n, k] weight[o, k]. q = rint(data (1 / data_step)), halves to even, clipped to "
                          "the range of data_dtype.",
               .source = "Kiln's own: quantize() makes it of FullyConnected. MXNet's files have no such "
                         "operator."},
       .inputs = {"data", "weight", "weight_step", "bias"},
       .active_inputs = int8_inputs,
       .attrs = int8_attrs(nn_ops(), "FullyConnected"),
       .compose = int8_fully_connected,
       .stops_gradient = true,
       .shape_rule = with_steps<fully_connected_shape>,
       .undeclared_dtype = int8_input_dtype},
      {.name = "_int8_weight_fully_connected",
       .summary = "A dense layer of an int8 weight: multiplies data in floating point by the integers.",
       .reference =
           {.shapes = int8_dense_shapes,
            .dtypes = "Floating; data and bias have one dtype, which the result has too. weight is "
                      "int8, weight_step float32. Each operation between data and the result is one of "
                      "float32, with data of float64 one of float64, rounded once.",
            .nan = "A NaN in a row of data makes that row NaN. A NaN in weight_step or in bias makes "
                   "the results of its unit NaN.",
            .empty = int8_dense_empty,
            .integers = "Of data an error.",
            .gradient = "data: (g weight_step) weight. weight_step: the sum over n of g[n, o] s[n, o]. "
                        "bias: the sum of g over all axes except the last. weight: zeros.",
            .formula = "y[n, o] = s[n, o] weight_step[o] + bias[o], s[n, o] = sum over k of data[n, "
                       "k] weight[o, k].",
            .source = "Kiln's own: quantize() makes it of FullyConnected, for weights alone. MXNet's "
                      "files have no such operator."},
       .inputs = {"data", "weight", "weight_step", "bias"},
       .active_inputs = int8_inputs,
       .attrs = float_attrs(nn_ops(), "FullyConnected"),
       .compose = int8_weight_fully_connected,
       .shape_rule = with_steps<fully_connected_shape>,
       .undeclared_dtype = int8_input_dtype},
      {.name = "_int8_convolution",
       .summary = "A convolution with an int8 weight: quantises data, and adds products of 8-bit integers.",
       .reference =
           int8_reference |
           OpReference{
               .shapes =
                   "data (N, C, H, W), weight (O, C/g, kH, kW), weight_step (O), bias (O) -> (N, O, H', "
                   "W'), g groups. H' = floor((H + 2 pad - dilate (kH - 1) - 1) / stride) + 1, and W' "
                   "likewise. In one dimension (N, C, W), in three (N, C, D, H, W).",
               .empty = "No samples give no samples. Without channels the result is the bias, or 0 without "
                        "one. A window larger than the padded data throws, and so does data without elements "
                        "along a spatial axis.",
               .formula =
                   "y[n, o, i, j] = s[n, o, i, j] (data_step weight_step[o]) + bias[o], s[n, o, i, j] = "
                   "sum over c, u, v of q[n, c, h, w] weight[o, c, u, v]. h = i stride - pad + u dilate "
                   "and w = j stride - pad + v dilate. q = rint(data (1 / data_step)), halves to even, "
                   "clipped to the range of data_dtype.",
               .source = "Kiln's own: quantize() makes it of Convolution. MXNet's files have no such "
                         "operator."},
       .inputs = {"data", "weight", "weight_step", "bias"},
       .active_inputs = int8_inputs,
       .attrs = int8_attrs(conv_ops(), "Convolution"),
       .compose = int8_conv,
       .stops_gradient = true,
       .shape_rule = with_steps<convolution_shape>,
       .undeclared_dtype = int8_input_dtype},
  };
  return rows;
}

}  // namespace kiln::ops
