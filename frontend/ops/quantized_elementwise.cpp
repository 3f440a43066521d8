// Quantised relu, Flatten and Concat, and sums and products of pairs of 8-bit integers.
#include "frontend/ops/quantized.h"
#include "frontend/ops/reference.h"

#include <algorithm>

namespace kiln::ops {
namespace {

// Operators whose range passes through.

Values quantized_act(Primitives& p, Args in, const Attrs& a) {
  require_dtype(p, in[0], "data", {DType::i8, DType::u8});
  const QuantizedRange range = range_of(p, in[1], in[2], "data");
  if (a.word("act_type") != "relu") fail("act_type must be relu, not {}", a.word("act_type"));
  return {p.binary(Binary::max, in[0], p.like(in[0], 0)), range.min, range.max};
}
void quantized_act_shape(ShapeFacts& f, const Attrs&) {
  f.same(f.in[0], f.out[0]);
  ranges_are_single(f, 1);
}

Values quantized_flatten(Primitives& p, Args in, const Attrs&) {
  const Shape from = p.shape(in[0]);
  if (from.empty()) fail("needs data of at least one axis");
  const QuantizedRange range = range_of(p, in[1], in[2], "data");
  return {p.reshape(in[0], {from[0], Shape(from.dims().subspan(1)).elements()}), range.min, range.max};
}
void quantized_flatten_shape(ShapeFacts& f, const Attrs&) {
  PartialShape &data = f.in[0], &out = f.out[0];
  f.rank(out, 2);
  f.same(Axis{data, 0}, Axis{out, 0});
  if (data.ranked) f.same_product(axes_between(data, 1, data.extents.rank()), {{out, 1}});
  ranges_are_single(f, 1);
}

// Concat: n arrays, then the ends of the range of each.

/// The extreme of the ends of all ranges and 0.
Value widest(Primitives& p, Binary op, const Values& ends) {
  Value extreme = p.like(ends[0], 0);
  for (const Value end : ends) extreme = p.binary(op, extreme, end);
  return extreme;
}

Values quantized_concat(Primitives& p, Args in, const Attrs& a) {
  const auto count = static_cast<std::size_t>(count_of(a, "num_args"));
  const Args arrays = in.first(count);
  Values least, greatest, magnitudes;
  for (std::size_t i = 0; i < count; ++i) {
    require_dtype(p, arrays[i], "an array", {DType::i8, DType::u8});
    const QuantizedRange range = range_of(p, in[count + 2 * i], in[count + 2 * i + 1], "an array");
    least.push_back(range.min);
    greatest.push_back(range.max);
    magnitudes.push_back(magnitude(p, range));
  }
  const bool all_unsigned =
      std::all_of(arrays.begin(), arrays.end(), [&](Value v) { return p.dtype(v) == DType::u8; });
  const DType to = all_unsigned ? DType::u8 : DType::i8;
  const QuantizedRange range{widest(p, Binary::min, least), widest(p, Binary::max, greatest)};
  const Value scale = scale_to(p, half_levels(to), magnitude(p, range)), zero = p.like(scale, 0);
  Values parts;
  for (std::size_t i = 0; i < count; ++i) {
    const Value own = scale_to(p, half_levels(p.dtype(arrays[i])), magnitudes[i]);
    const Value factor = p.select(p.compare(Compare::eq, own, zero), zero, p.div(scale, own));
    parts.push_back(saturated(p, rescaled(p, arrays[i], factor), to));
  }
  return {p.concatenate(parts, axis_of(a.integer("dim"), p.shape(in[0]).rank())), range.min, range.max};
}
void quantized_concat_shape(ShapeFacts& f, const Attrs& a) {
  const std::size_t count = f.in.size() / 3;
  const std::span<PartialShape> all = f.in;
  f.in = all.first(count);
  joined_shape(f, a.integer("dim"));
  f.in = all;
  ranges_are_single(f, count);
}
std::optional<DType> dtype_of_concat(std::size_t input, const Attrs& a) {
  return input < static_cast<std::size_t>(count_of(a, "num_args")) ? DType::i8 : DType::f32;
}

// Pairs.

struct Pair {
  Value lhs, rhs;
  Value lhs_magnitude, rhs_magnitude;
};
Pair pair_inputs(Primitives& p, Args in, std::initializer_list<DType> dtypes) {
  require_dtype(p, in[0], "lhs", dtypes);
  require_dtype(p, in[1], "rhs", dtypes);
  if (!(p.shape(in[0]) == p.shape(in[1])))
    fail(Mistake::operand_shape, "lhs and rhs must have one shape, got {} and {}", p.shape(in[0]).str(),
         p.shape(in[1]).str());
  return {in[0], in[1], magnitude(p, range_of(p, in[2], in[3], "lhs")),
          magnitude(p, range_of(p, in[4], in[5], "rhs"))};
}
void pair_shape(ShapeFacts& f, const Attrs&) {
  f.same(f.in[0], f.in[1]);
  f.same(f.in[0], f.out[0]);
  ranges_are_single(f, 2);
}
std::optional<DType> dtype_of_pair(std::size_t input, const Attrs&) {
  return input < 2 ? DType::i8 : DType::f32;
}

Values quantized_elemwise_add(Primitives& p, Args in, const Attrs& a) {
  const Pair x = pair_inputs(p, in, {DType::i8, DType::u8});
  const std::optional<CalibratedRange> known = calibrated_range(a);
  const QuantizedRange range = known ? constant_range(p, known->min, known->max)
                                     : symmetric(p, p.add(x.lhs_magnitude, x.rhs_magnitude));
  const bool mixed = p.dtype(x.lhs) != p.dtype(x.rhs);
  const DType to = !known ? DType::i32 : mixed ? DType::i8 : p.dtype(x.lhs);
  const double levels = known ? half_levels(to) : whole_levels(to);
  const Value scale = scale_to(p, levels, magnitude(p, range)), zero = p.like(scale, 0);
  const auto term = [&](Value v, Value r) {
    const Value own = scale_to(p, half_levels(p.dtype(v)), r);
    const Value factor = p.select(p.compare(Compare::eq, own, zero), zero, p.div(scale, own));
    const Value number = rescaled(p, v, factor);
    // oneDNN adds operands of one dtype; a uint8 one beside int8 is rounded to the result first.
    const bool rounded = known && mixed && p.dtype(v) == DType::u8;
    return rounded ? p.cast(saturated(p, number, to), DType::f32) : number;
  };
  const Value sum = p.add(term(x.lhs, x.lhs_magnitude), term(x.rhs, x.rhs_magnitude));
  return {saturated(p, sum, to), range.min, range.max};
}

Values quantized_elemwise_mul(Primitives& p, Args in, const Attrs& a) {
  const Pair x = pair_inputs(p, in, {DType::i8});
  const Value product = p.mul(p.cast(x.lhs, DType::i32), p.cast(x.rhs, DType::i32));
  // The factor from products to `levels` of a magnitude r; without r to numbers.
  const auto scale = [&](double levels, Value r) {
    const Value one = scale_to(p, half_levels(DType::i8), x.lhs_magnitude),
                other = scale_to(p, half_levels(DType::i8), x.rhs_magnitude), both = p.mul(one, other);
    const Value zero = p.like(both, 0), to = r.valid() ? scale_to(p, levels, r) : p.like(both, 1);
    return p.select(p.compare(Compare::eq, both, zero), zero, p.div(to, both));
  };
  if (a.boolean("enable_float_output")) return {rescaled(p, product, scale(1, {}))};
  if (const std::optional<CalibratedRange> known = calibrated_range(a)) {
    const QuantizedRange range = constant_range(p, known->min, known->max);
    const Value y = rescaled(p, product, scale(half_levels(DType::i8), magnitude(p, range)));
    return {saturated(p, p.unary(Unary::trunc, y), DType::i8), range.min, range.max};
  }
  const Value unit = p.mul(scale_from(p, whole_levels(DType::i8), x.lhs_magnitude),
                           scale_from(p, whole_levels(DType::i8), x.rhs_magnitude));
  const QuantizedRange range = symmetric(p, p.mul(unit, p.like(unit, whole_levels(DType::i32))));
  return {product, range.min, range.max};
}
int product_outputs(const Attrs& a) { return a.boolean("enable_float_output") ? 1 : 3; }

}  // namespace

std::span<const OpDef> quantized_elementwise_ops() {
  static const std::vector<std::string_view> pair_names{"lhs",     "rhs",     "lhs_min",
                                                        "lhs_max", "rhs_min", "rhs_max"};
  static const std::vector<std::string_view> names_of_outputs{"output", "min_output", "max_output"};
  static const std::vector<OpDef> rows{
      {.name = "_contrib_quantized_act",
       .summary = "Sets negative 8-bit integers to 0; their range stays.",
       .reference = quantized_reference |
                    OpReference{
                        .shapes = "data (...), min_data (1), max_data (1) -> (...), min (1), max (1).",
                        .nan = "A NaN in the range stays.",
                        .integers = "Exact. uint8 data is unchanged.",
                        .formula = "y = max(data, 0). min, max: min_data, max_data.",
                        .source = "MXNet 1.9.1 (src/operator/quantization/quantized_activation.cc), which "
                                  "takes uint8 data for int8.",
                    },
       .inputs = {"data", "min_data", "max_data"},
       .attrs = {meaning({"act_type",
                          AttrKind::word,
                          std::nullopt,
                          false,
                          {"relu", "sigmoid", "softrelu", "softsign", "tanh"}},
                         "The function. Only relu is supported; others throw.")},
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = names_of_outputs,
       .compose = quantized_act,
       .stops_gradient = true,
       .shape_rule = quantized_act_shape,
       .undeclared_dtype = dtype_before_range},
      {.name = "_contrib_quantized_flatten",
       .summary = "Flatten of an array with a range: all axes after the first one become one.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes = "data (N, ...), min_data (1), max_data (1) -> (N, K), min (1), max (1). K is "
                         "the number of elements of a row of data.",
               .dtypes = "Any for data, and the result has it; the ends of the range are float32.",
               .nan = "Copied as any other element. A NaN in the range stays.",
               .integers = "Copied exactly.",
               .formula = "Element i of the result is element i of data, both counted in C order. min, "
                          "max: min_data, max_data.",
               .source = "MXNet 1.9.1 (src/operator/quantization/quantized_flatten.cc).",
           },
       .inputs = {"data", "min_data", "max_data"},
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = names_of_outputs,
       .compose = quantized_flatten,
       .stops_gradient = true,
       .shape_rule = quantized_flatten_shape,
       .undeclared_dtype = dtype_before_range},
      {.name = "_contrib_quantized_concat",
       .summary = "Concatenates arrays of 8-bit integers, rescaled to a common range.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes = "n arrays (a..., Di, b...), Di along the joined axis, then min and max of "
                         "each array (1) -> (a..., D1 + ... + Dn, b...), min (1), max (1). Rank 0 "
                         "throws",
               .dtypes = "Int8 or uint8; the result is uint8 if all arrays are, else int8. Ranges are "
                         "float32.",
               .ties = "Halves are rounded to even.",
               .empty = "An input without elements along the axis adds none.",
               .integers = "Arrays that have the dtype and R of the result are copied, unless R = 0.",
               .formula = "min, max: the least and the greatest end of all ranges and 0. y = the arrays, "
                          "each times (H / R) / (h / r), rounded and clipped, one after the other. R "
                          "and r are the largest |end| of the ranges of result and array, H and h "
                          "127.5, of uint8 255.5. An array with r = 0 gives 0.",
               .source = "MXNet 1.9.1 (src/operator/quantization/mkldnn/mkldnn_quantized_concat.cc). "
                         "There a NaN in a range is left out of the result's.",
           },
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .inputs_per_count = 3,
       .attrs = {required("num_args", AttrKind::integer, "The number of arrays, 1 or more."),
                 int_attr("dim", 1, "The joined axis; negative: from the end.")},
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = names_of_outputs,
       .compose = quantized_concat,
       .stops_gradient = true,
       .shape_rule = quantized_concat_shape,
       .undeclared_dtype = dtype_of_concat},
      {.name = "_contrib_quantized_elemwise_add",
       .summary = "The sum of two arrays of 8-bit integers, by their ranges.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes =
                   "lhs (...), rhs (...), lhs_min (1), lhs_max (1), rhs_min (1), rhs_max (1) -> (...), min "
                   "(1), max (1).",
               .dtypes = "Int8 or uint8, lhs and rhs independently; ranges are float32. The result is int32; "
                         "with a calibrated range uint8 if both inputs are, else int8.",
               .ties = "Halves are rounded to even.",
               .integers = "Computed in float32, rounded and clipped to the dtype.",
               .formula =
                   "y = lhs (H / R) / (hl / rl) + rhs (H / R) / (hr / rr). r is the largest |end| of a "
                   "range, h 127.5, of uint8 255.5; an r of 0 leaves its term out. R and H are the ones of "
                   "the calibrated range. Without it R = rl + rr, H = 2^31; min, max: -R, R.",
               .source =
                   "MXNet 1.9.1 (src/operator/quantization/mkldnn/mkldnn_quantized_elemwise_add.cc). As "
                   "there, a uint8 term beside int8 is rounded by itself with a calibrated range; without "
                   "one it is wrong there. There int32 results may differ in the 24th bit.",
           },
       .inputs = pair_names,
       .attrs = with_calibration({}),
       .counted_outputs = outputs<3>,
       .visible_outputs = outputs<3>,
       .output_names = names_of_outputs,
       .compose = quantized_elemwise_add,
       .stops_gradient = true,
       .shape_rule = pair_shape,
       .undeclared_dtype = dtype_of_pair},
      {.name = "_contrib_quantized_elemwise_mul",
       .summary = "The product of two arrays of 8-bit integers, by their ranges.",
       .reference =
           quantized_reference |
           OpReference{
               .shapes =
                   "lhs (...), rhs (...), lhs_min (1), lhs_max (1), rhs_min (1), rhs_max (1) -> (...), min "
                   "(1), max (1); with enable_float_output (...) alone.",
               .dtypes =
                   "Int8, lhs and rhs; ranges are float32. The result is int32; with a calibrated range "
                   "int8, with enable_float_output float32.",
               .integers = "Products are exact in int32. int8 results are truncated, and clipped.",
               .formula =
                   "y = lhs rhs; max = 2^31 (rl / 127) (rr / 127), min = -max. r is the largest |end| of a "
                   "range. With enable_float_output y = lhs rhs / ((127.5 / rl) (127.5 / rr)). With a "
                   "calibrated range this times 127.5 / R, truncated, and min, max are that range. A range "
                   "of 0 gives 0.",
               .source =
                   "MXNet 1.9.1 (src/operator/quantization/quantized_elemwise_mul.cc). int8 results wrap "
                   "there.",
           },
       .inputs = pair_names,
       .attrs = with_calibration(
           {bool_attr("enable_float_output", false, "Whether the result is numbers, without a range.")}),
       .counted_outputs = product_outputs,
       .visible_outputs = product_outputs,
       .output_names = names_of_outputs,
       .compose = quantized_elemwise_mul,
       .stops_gradient = true,
       .shape_rule = pair_shape,
       .undeclared_dtype = dtype_of_pair},
  };
  return rows;
}

}  // namespace kiln::ops
