// Helpers of the quantised operators.
#include "frontend/ops/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::ops {
namespace {

/// An array of one element, repeated.
Value repeated(Primitives& p, Value one, const Shape& to) {
  return p.broadcast_to(p.reshape(one, Shape::filled(std::max(to.rank(), 0), 1)), to);
}

std::string listed(std::initializer_list<DType> dtypes) {
  std::string list;
  for (const DType d : dtypes) list += fmt::format("{}{}", list.empty() ? "" : " or ", name_of(d));
  return list;
}

}  // namespace

Value int8_dot(Primitives& p, Value lhs, Value rhs, const ir::DotSpec& spec) {
  return p.dot(convert(p, lhs, DType::i32), convert(p, rhs, DType::i32), spec);
}

Value int8_convolution(Primitives& p, Value x, Value w, const ir::ConvSpec& spec) {
  return p.convolution(convert(p, x, DType::i32), convert(p, w, DType::i32), spec);
}

double whole_levels(DType d) {
  if (d == DType::i8) return std::numeric_limits<std::int8_t>::max();
  return d == DType::u8 ? std::numeric_limits<std::uint8_t>::max() : std::numeric_limits<std::int32_t>::max();
}

double half_levels(DType d) { return whole_levels(d) + 0.5; }

QuantizedRange constant_range(Primitives& p, double min, double max) {
  return {p.full({DType::f32, {1}}, min), p.full({DType::f32, {1}}, max)};
}

QuantizedRange actual_range(Primitives& p, Value x) {
  const Value flat = p.reshape(x, {p.shape(x).elements()});
  const auto extreme = [&](Reduce op, double identity) {
    const Value numbers = is_floating(p.dtype(x))
                              ? p.select(p.compare(Compare::eq, flat, flat), flat, p.like(flat, identity))
                              : flat;
    return p.reshape(convert(p, p.reduce(op, numbers, {0}), DType::f32), {1});
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {extreme(Reduce::min, infinity), extreme(Reduce::max, -infinity)};
}

Value magnitude(Primitives& p, const QuantizedRange& range) {
  return p.binary(Binary::max, p.unary(Unary::abs, range.min), p.unary(Unary::abs, range.max));
}

QuantizedRange symmetric(Primitives& p, Value r) { return {p.unary(Unary::neg, r), r}; }

Value scale_to(Primitives& p, double levels, Value r) {
  const Value zero = p.like(r, 0);
  return p.select(p.compare(Compare::eq, r, zero), zero, p.div(p.like(r, levels), r));
}

Value scale_from(Primitives& p, double levels, Value r) { return p.div(r, p.like(r, levels)); }

Value rescaled(Primitives& p, Value x, Value factor) {
  return p.mul(convert(p, x, DType::f32), repeated(p, factor, p.shape(x)));
}

Value saturated(Primitives& p, Value x, DType to) {
  const Value y = p.unary(Unary::rint, x);
  if (to == DType::i32) {  // whose greatest integer no float32 is: clipped after the cast, which wraps
    const Value cast = p.cast(y, to);
    const auto within = [&](Compare op, double bound, Value inside, std::int64_t outside) {
      return p.select(p.compare(op, y, p.like(y, bound)), inside, p.full_integer(p.type(cast), outside));
    };
    using limits = std::numeric_limits<std::int32_t>;
    const Value above = within(Compare::lt, 0x1p31, cast, limits::max());
    return p.select(p.compare(Compare::lt, y, p.like(y, -0x1p31)),
                    p.full_integer(p.type(cast), limits::min()), above);
  }
  const Value least = p.like(y, to == DType::i8 ? -128 : 0), greatest = p.like(y, whole_levels(to));
  // The first comparison decides a NaN.
  const auto at_most = [&](Value v) { return p.select(p.compare(Compare::lt, v, greatest), v, greatest); };
  const auto at_least = [&](Value v) { return p.select(p.compare(Compare::gt, v, least), v, least); };
  return p.cast(to == DType::i8 ? at_least(at_most(y)) : at_most(at_least(y)), to);
}

void require_dtype(Primitives& p, Value x, std::string_view name, std::initializer_list<DType> dtypes) {
  if (std::find(dtypes.begin(), dtypes.end(), p.dtype(x)) == dtypes.end())
    fail("{} must be {}, got {}: quantise it (_contrib_quantize_v2), or convert it (astype, Cast)", name,
         listed(dtypes), name_of(p.dtype(x)));
}

QuantizedRange range_of(Primitives& p, Value min, Value max, std::string_view name) {
  for (const auto& [end, v] : {std::pair{"least", min}, {"greatest", max}})
    if (p.dtype(v) != DType::f32 || !(p.shape(v) == Shape{1}))
      fail("the {} number of the range of {} must be float32 of the shape (1,), got {}", end, name,
           p.type(v).str());
  return {min, max};
}

void ranges_are_single(ShapeFacts& f, std::size_t first) {
  for (std::size_t i = first; i < f.in.size(); ++i) f.is(f.in[i], Shape{1});
  for (std::size_t i = 1; i < f.out.size(); ++i) f.is(f.out[i], Shape{1});
}

std::optional<DType> dtype_before_range(std::size_t input, const Attrs&) {
  return input == 0 ? DType::i8 : DType::f32;
}

std::optional<CalibratedRange> calibrated_range(const Attrs& a) {
  if (a.is_none("min_calib_range") || a.is_none("max_calib_range")) return {};
  const CalibratedRange range{a.real("min_calib_range"), a.real("max_calib_range")};
  if (!std::isfinite(range.min) || !std::isfinite(range.max) || range.min > range.max)
    fail("min_calib_range {} and max_calib_range {} must be finite, the first one not above the second one",
         range.min, range.max);
  return range;
}

std::vector<AttrSpec> with_calibration(std::vector<AttrSpec> attrs) {
  attrs.push_back(or_none("min_calib_range", AttrKind::real,
                          "The least number of the result's range, from calibration, or None."));
  attrs.push_back(or_none("max_calib_range", AttrKind::real,
                          "The greatest number of the result's range, from calibration, or None."));
  return attrs;
}

}  // namespace kiln::ops
