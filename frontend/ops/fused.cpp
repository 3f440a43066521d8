// Convolutions and dense layers that MXNet fused with the operators after them, in float32 and quantised.
#include "frontend/ops/fused_parts.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"
#include "ir/compose.h"

namespace kiln::ops {
namespace {

using ir::Bodies;

bool is_quantized(const Attrs& a) { return a.boolean("quantized"); }

/// The number of the node's inputs that are variables of its subgraph; a range of two inputs follows for some.
std::size_t convolution_inputs(const Attrs& a, Bodies bodies) {
  const FusedParts parts = fused_convolution(a, *bodies[0]);
  const std::size_t ranges = is_quantized(a) ? (parts.sum ? 2 : 1) : 0;
  return bodies[0]->inputs.size() + 2 * ranges;
}
std::size_t dense_inputs(const Attrs& a, Bodies bodies) {
  (void)fused_dense(a, *bodies[0]);
  const std::size_t n = bodies[0]->inputs.size();
  const std::size_t ranges = is_quantized(a) ? (weight_is_float(a) ? 1 : n) : 0;
  return n + 2 * ranges;
}

Values convolution(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  const FusedParts parts = fused_convolution(a, *bodies[0]);
  if (is_quantized(a)) return quantized_convolution(p, in, a, parts);
  p.set_train(false);  // the moving statistics, in training too; the scope of the node restores the mode
  return compose(p, *bodies[0], in);
}
Values dense(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  const FusedParts parts = fused_dense(a, *bodies[0]);
  if (is_quantized(a)) return quantized_dense(p, in, a, parts);
  return compose(p, *bodies[0], in);
}

/// The leading inputs are the variables of the subgraph, the others ranges.
void fused_shape(ShapeFacts& f, const Attrs&) {
  const ShapeFacts::Body& body = f.bodies[0];
  for (std::size_t i = 0; i < f.in.size(); ++i) {
    if (i < body.variables.size())
      f.same(f.in[i], body.variables[i]);
    else
      f.is(f.in[i], Shape{1});
  }
  f.same(body.outputs[0], f.out[0]);
  for (std::size_t i = 1; i < f.out.size(); ++i) f.is(f.out[i], Shape{1});
}

int convolution_outputs(const Attrs& a) { return is_quantized(a) ? 3 : 1; }
int dense_outputs(const Attrs& a) { return is_quantized(a) && !a.boolean("enable_float_output") ? 3 : 1; }

std::optional<DType> convolution_dtype(std::size_t input, const Attrs& a, Bodies) {
  return is_quantized(a) && input > 0 ? std::optional(DType::f32) : std::nullopt;
}
std::optional<DType> dense_dtype(std::size_t input, const Attrs& a, Bodies bodies) {
  if (!is_quantized(a) || input == 0) return {};
  return input < bodies[0]->inputs.size() && !weight_is_float(a) ? DType::i8 : DType::f32;
}

AttrSpec flag(std::string_view name, std::string_view sentence) { return bool_attr(name, false, sentence); }

}  // namespace

std::span<const OpDef> fused_ops() {
  static constexpr OpReference family{
      .dtypes = "As in the subgraph. Quantized: data is int8 or uint8, ranges are float32; the result is uint8 "
                "after an activation without negative results, else int8; int32 without a calibrated range.",
      .nan = "As in the operators of the subgraph. Quantized: a result of NaN has no fixed number.",
      .empty = "As in the operators of the subgraph.",
      .integers = "Quantized: sums are exact and wrap modulo 2^32, then float32; results are rounded to the "
                  "nearest, halves to even, and clipped.",
      .gradient = "None: zeros.",
  };
  static constexpr std::string_view quantized_source =
      " MXNet's int8 kernels fix every rounding but those within an activation.";
  static const AttrSpec min_range = or_none(
      "min_calib_range", AttrKind::real,
      "The least number of the result's range, from calibration. None: the result is int32."),
      max_range = or_none("max_calib_range", AttrKind::real,
      "The greatest number of the result's range, from calibration.");
  return {};
}

}  // namespace kiln::ops
