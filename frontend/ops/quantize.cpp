// Quantisation, dequantisation and requantisation: between numbers, 8-bit integers and int32.
#include "frontend/ops/quantized.h"
#include "frontend/ops/reference.h"

namespace kiln::ops {
namespace {

/// The dtype of `out_type`: auto is uint8 if calibration found no negative number.
DType quantized_dtype(const Attrs& a) {
  const std::string& type = a.word("out_type");
  if (type != "auto") return type == "uint8" ? DType::u8 : DType::i8;
  const std::optional<CalibratedRange> range = calibrated_range(a);
  return range && range->min >= 0 ? DType::u8 : DType::i8;
}

Values quantize(Primitives& p, Args in, const Attrs& a) {
  require_dtype(p, in[0], "data", {DType::f32});
  const QuantizedRange range = range_of(p, in[1], in[2], "data");
  const DType to = quantized_dtype(a);
  const Value r = magnitude(p, range);
  const Value q = saturated(p, rescaled(p, in[0], scale_to(p, whole_levels(to), r)), to);
  const QuantizedRange result = to == DType::u8 ? range : symmetric(p, r);
  return {q, result.min, result.max};
}

/// Data that is quantised already, with its range.
Values unchanged(Primitives& p, Value data, const Attrs& a) {
  const DType d = p.dtype(data);
  if (a.word("out_type") != "auto" && a.word("out_type") != name_of(d))
    fail("data is {} already: out_type must be {} or auto, not {}", name_of(d), name_of(d),
         a.word("out_type"));
  const std::optional<CalibratedRange> known = calibrated_range(a);
  const double r = half_levels(d);
  const QuantizedRange range =
      known ? constant_range(p, known->min, known->max) : constant_range(p, d == DType::u8 ? 0 : -r, r);
  return {data, range.min, range.max};
}
Values quantize_v2(Primitives& p, Args in, const Attrs& a) {
  require_dtype(p, in[0], "data", {DType::f32, DType::i8, DType::u8});
  if (p.dtype(in[0]) != DType::f32) return unchanged(p, in[0], a);
  const std::optional<CalibratedRange> known = calibrated_range(a);
  const QuantizedRange range = known ? constant_range(p, known->min, known->max) : actual_range(p, in[0]);
  const DType to = quantized_dtype(a);
  const Value r = magnitude(p, range);
  const Value q = saturated(p, rescaled(p, in[0], scale_to(p, half_levels(to), r)), to);
  const QuantizedRange result = to == DType::u8 ? range : symmetric(p, r);
  return {q, result.min, result.max};
}

Values dequantize(Primitives& p, Args in, const Attrs&) {
  require_dtype(p, in[0], "data", {DType::i8, DType::u8});
  const Value r = magnitude(p, range_of(p, in[1], in[2], "data"));
  return {rescaled(p, in[0], scale_from(p, half_levels(p.dtype(in[0])), r))};
}

Values requantize(Primitives& p, Args in, const Attrs& a) {
  require_dtype(p, in[0], "data", {DType::i32});
  const QuantizedRange range = range_of(p, in[1], in[2], "data");
  const Value to_number = scale_from(p, whole_levels(DType::i32), magnitude(p, range));
  const std::optional<CalibratedRange> known = calibrated_range(a);
  const Value r = known ? magnitude(p, constant_range(p, known->min, known->max))
                        : p.mul(to_number, magnitude(p, actual_range(p, in[0])));
  const DType to = quantized_dtype(a);
  const Value q = saturated(p, rescaled(p, in[0], p.mul(to_number, scale_to(p, whole_levels(to), r))), to);
  return {q, to == DType::u8 ? p.like(r, 0) : symmetric(p, r).min, r};
}

/// The first two have a range beside the data; quantize_v2 has one input.
void with_range_shape(ShapeFacts& f, const Attrs&) {
  f.same(f.in[0], f.out[0]);
  ranges_are_single(f, 1);
}

std::optional<DType> dtype_of_numbers(std::size_t, const Attrs&) { return DType::f32; }
std::optional<DType> dtype_of_sums(std::size_t input, const Attrs&) {
  return input == 0 ? DType::i32 : DType::f32;
}

AttrSpec out_type(std::string fallback, std::vector<std::string_view> words, std::string_view sentence) {
  return word_attr("out_type", std::move(fallback), std::move(words), sentence);
}
constexpr std::string_view quantized_type = "The dtype of the integers.";
constexpr std::string_view quantized_or_auto =
    "The dtype of the integers; auto: uint8 if min_calib_range is 0 or more, else int8.";
constexpr std::string_view infinite_scale =
    "A NaN, or an infinity of an infinite range, is 127 in int8 and 0 in uint8. A NaN in the range does that "
    "to "
    "all elements.";
constexpr std::string_view rounding_ties = "Halves are rounded to even.";

}  // namespace

std::span<const OpDef> quantize_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_contrib_quantize",
       .summary = "Quantises numbers to 8-bit integers, by a range that is an input.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes = "data (...), min_range (1), max_range (1) -> (...), min (1), max (1).",
               .dtypes = "Float32, all inputs; the result is int8 or uint8, its range float32.",
               .nan = infinite_scale,
               .ties = rounding_ties,
               .integers = "Throws; integers need no quantisation.",
               .formula = "r = max(|min_range|, |max_range|). y = data 127 / r (uint8: 255 / r), "
                          "rounded and clipped to the dtype; 0 if r = 0. min, max: -r, r (uint8: "
                          "min_range, max_range).",
               .source = "MXNet 1.9.1 (src/operator/quantization/quantize.cc), as its oneDNN kernels "
                         "round. There zeros of the range 0 are 127.",
           },
       .inputs = {"data", "min_range", "max_range"},
       .attrs = {out_type("uint8", {"int8", "uint8"}, quantized_type)},
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .compose = quantize,
       .stops_gradient = true,
       .shape_rule = with_range_shape,
       .undeclared_dtype = dtype_of_numbers},
      {.name = "_contrib_quantize_v2",
       .summary = "Quantises numbers to 8-bit integers, by a calibrated range or by their own.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes = "data (...) -> (...), min (1), max (1).",
               .dtypes = "Float32, int8 or uint8; the result is int8 or uint8, its range float32.",
               .nan = "127 in int8 and 0 in uint8, as an infinity of an infinite range is. The range of the "
                      "data "
                      "is the range of its other elements.",
               .ties = rounding_ties,
               .empty = "An empty array gives an empty array; its own range is (inf, -inf).",
               .integers = "Unchanged. Their range is the calibrated one, else (-127.5, 127.5), of uint8 (0, "
                           "255.5).",
               .formula = "r = max(|min|, |max|) of the range, calibrated or of the data. y = data 127.5 / r "
                          "(uint8: 255.5 / r), rounded and clipped to the dtype; 0 if r = 0. min, max: -r, r "
                          "(uint8: the range).",
               .source = "MXNet 1.9.1 (src/operator/quantization/quantize_v2.cc), as its oneDNN kernels "
                         "round. There zeros of the range 0 are 127, and integers of another dtype than "
                         "out_type are reinterpreted; here they throw.",
           },
       .inputs = {"data"},
       .attrs = with_calibration({out_type("int8", {"auto", "int8", "uint8"}, quantized_or_auto)}),
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .compose = quantize_v2,
       .stops_gradient = true,
       .shape_rule = with_range_shape,
       .undeclared_dtype = dtype_of_numbers},
      {.name = "_contrib_dequantize",
       .summary = "The numbers that 8-bit integers with a range stand for.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes = "data (...), min_range (1), max_range (1) -> (...).",
               .dtypes = "Int8 or uint8; the range and the result are float32.",
               .nan = "There is none in integers. A NaN in the range makes all elements NaN.",
               .integers = "Converted exactly; the product is rounded.",
               .formula = "y = data r / 127.5 (uint8: r / 255.5), r = max(|min_range|, |max_range|); "
                          "r / 127.5 is rounded first.",
               .source = "MXNet 1.9.1 (src/operator/quantization/dequantize.cc).",
           },
       .inputs = {"data", "min_range", "max_range"},
       .attrs = {ignored(out_type("float32", {"float32"}, "The dtype of the result."),
                         "float32 is the only one")},
       .compose = dequantize,
       .stops_gradient = true,
       .shape_rule = with_range_shape,
       .undeclared_dtype = dtype_before_range},
      {.name = "_contrib_requantize",
       .summary = "Quantises int32 sums of products of quantised arrays to 8-bit integers.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes = "data (...), min_range (1), max_range (1) -> (...), min (1), max (1).",
               .dtypes = "Int32; the range is float32. The result is int8 or uint8, its range float32.",
               .nan = "There is none in integers. A NaN in the range gives 127 in int8 and 0 in uint8.",
               .ties = rounding_ties,
               .empty = "An empty array gives an empty array.",
               .integers = "Converted to float32 and rounded as in formula.",
               .formula =
                   "u = max(|min_range|, |max_range|) / 2^31 is the number of 1. r = max(|min_calib_range|, "
                   "|max_calib_range|), without calibration u times the largest |data|. y = data (u (127 "
                   "/ r)) (uint8: 255 / r), rounded and clipped to the dtype; 0 if r = 0. min, max: -r, "
                   "r (uint8: 0, r).",
               .source = "MXNet 1.9.1 (src/operator/quantization/requantize.cc). There zeros of the range 0 "
                         "are 127, and -2^31 in the data makes its own range negative.",
           },
       .inputs = {"data", "min_range", "max_range"},
       .attrs = with_calibration({out_type("int8", {"auto", "int8", "uint8"}, quantized_or_auto)}),
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .compose = requantize,
       .stops_gradient = true,
       .shape_rule = with_range_shape,
       .undeclared_dtype = dtype_of_sums},
      calibrate_entropy_op(),
  };
  return rows;
}

}  // namespace kiln::ops
