// Helpers of the quantised operators: contractions of 8-bit integers, ranges, and roundings that saturate.
#pragma once
#include "frontend/ops/shape_rules.h"

/// Helpers of the quantised operators.
///
/// A quantised array has integers q and a range (min, max), two float32 arrays of one element. Its magnitude
/// is r = max(|min|, |max|); q stands for the number q r / levels.
namespace kiln::ops {

// Contractions. Both operands are cast to int32 and contracted: products and sums are exact, and wrap. The
// code generator recognises this form, so that nothing may stand between the casts and the contraction.

/// lhs and rhs of any two 8-bit dtypes -> int32.
Value int8_dot(Primitives& p, Value lhs, Value rhs, const ir::DotSpec& spec);
/// x (N, C, spatial...) and w (O, C / groups, kernel...) of any two 8-bit dtypes -> int32 (N, O,
/// spatial'...).
Value int8_convolution(Primitives& p, Value x, Value w, const ir::ConvSpec& spec);

// Levels: the integer that stands for the magnitude of a range.

/// The greatest integer: 127 of int8, 255 of uint8, 2^31 - 1 of int32.
double whole_levels(DType d);
/// The greatest integer of int8 or uint8 plus a half: 127.5, 255.5. MXNet 1.9.1 quantises and dequantises by
/// it on the cpu; ranges of contractions have whole levels.
double half_levels(DType d);

// Ranges and scales are float32 arrays of one element, of the shape (1,).

struct QuantizedRange {
  Value min, max;
};
/// A range of two attributes, or of two numbers known to the operator.
QuantizedRange constant_range(Primitives& p, double min, double max);
/// The least and the greatest element of x, without NaNs.
QuantizedRange actual_range(Primitives& p, Value x);
/// max(|min|, |max|); NaN if one of them is.
Value magnitude(Primitives& p, const QuantizedRange& range);
/// (-r, r).
QuantizedRange symmetric(Primitives& p, Value r);
/// levels / r: the factor from numbers to integers. 0 where r is 0: all numbers of an empty range are 0.
Value scale_to(Primitives& p, double levels, Value r);
/// r / levels: the factor from integers to numbers.
Value scale_from(Primitives& p, double levels, Value r);

/// x * factor, in float32; x has any dtype, `factor` one element.
Value rescaled(Primitives& p, Value x, Value factor);
/// x (float32) as int8 or uint8: rounded to the nearest integer, halves to even, and clipped to the dtype.
/// NaN is 127 in int8 and 0 in uint8.
Value saturated(Primitives& p, Value x, DType to);

// Checks of a call, and facts about it.

/// Throws unless the dtype of input `name` is one of `dtypes`.
void require_dtype(Primitives& p, Value x, std::string_view name, std::initializer_list<DType> dtypes);
/// Throws unless both ends of the range of `name` are float32 of the shape (1,).
QuantizedRange range_of(Primitives& p, Value min, Value max, std::string_view name);
/// States that the inputs from `first` on, and all outputs after the first one, are ends of ranges: (1,).
void ranges_are_single(ShapeFacts& f, std::size_t first);
/// undeclared_dtype of (data, min, max): int8, float32.
std::optional<DType> dtype_before_range(std::size_t input, const Attrs& a);

/// The range of the attributes min_calib_range and max_calib_range.
struct CalibratedRange {
  double min, max;
};
/// Nothing if one of them is None. Throws for NaN, an infinity, and min above max.
std::optional<CalibratedRange> calibrated_range(const Attrs& a);
/// These attributes, after others.
std::vector<AttrSpec> with_calibration(std::vector<AttrSpec> attrs);

OpDef calibrate_entropy_op();

// Sentences of the reference.

/// An operator of quantised data.
inline constexpr OpReference quantized_reference{
    .dtypes = "Int8 or uint8; the result has the dtype of data. The ends of the range are float32.",
    .nan = "There is none in integers. A NaN in a range makes the range of the result NaN.",
    .empty = "An empty array gives an empty array.",
    .gradient = "None: zeros.",
};

}  // namespace kiln::ops
