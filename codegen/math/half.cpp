// Narrow floats in f32 registers. The instructions of F16C are used where the target has them; elsewhere
// integer operations give the same bits. A format with f32's exponents always takes integer operations:
// AVX512_BF16 would flush subnormals.
#include "codegen/math/casts.h"
#include "codegen/math/functions.h"

#include <bit>
#include <cmath>

namespace kiln::codegen {
namespace {

/// The nearest value of a narrower format, ties to even, in the type of x: by integer arithmetic on the
/// significand, and below the normal range by adding and subtracting a number whose last place is the
/// format's.
Num round_to_format(Num x, const FloatFormat& f) {
  int digits = x.width() == 64 ? 53 : 24;
  int drop = digits - f.digits;
  Num b = bits(x);
  Num even = shift_right_logical(b, drop) & 1;
  Num normal = from_bits((b + even + ((std::int64_t{1} << (drop - 1)) - 1)) & -(std::int64_t{1} << drop));
  normal = select(gt(abs(normal), f.greatest()), copysign(x.constant(kInf), x), normal);
  Num magic = x.constant(std::ldexp(1.5, digits - 1 + f.min_exponent - (f.digits - 1)));
  Num subnormal = copysign((abs(x) + magic) - magic, x);
  Num rounded = select(lt(abs(x), std::ldexp(1, f.min_exponent)), subnormal, normal);
  return select(is_nan(x), x.constant(kNaN), rounded);
}

/// The format that the instructions of F16C convert.
constexpr FloatFormat f16c{11, -14, 15};
bool has_instructions(const FloatFormat& f, Isa isa) {
  return f == f16c && (isa == Isa::avx2 || isa == Isa::avx512);
}

/// Whether a format is the upper half of f32: subnormals and overflow come out right by themselves.
bool has_exponents_of_f32(const FloatFormat& f) {
  return f.min_exponent == row_of(DType::f32).format.min_exponent;
}

/// By how much the exponents of f32 and of a format are biased apart, in the place of f32's exponent.
std::int64_t bias_of_f32(const FloatFormat& f) {
  return static_cast<std::int64_t>(f.min_exponent - row_of(DType::f32).format.min_exponent) << 23;
}

}  // namespace

Num round_to(Num x, DType type, Isa isa) {
  const FloatFormat& f = row_of(type).format;
  if (x.width() == 32 && has_instructions(f, isa)) return f32_from_f16(f16_from_f32(x));
  if (x.width() == 64 || !has_exponents_of_f32(f)) return to_f32(round_to_format(x, f));
  const int drop = 24 - f.digits;
  const std::int64_t place = std::int64_t{1} << drop;  // the last one of the format
  Num b = bits(x);
  Num rounded = (b + select(eq(b & place, 0), place / 2 - 1, b.constant(place / 2))) & -place;
  return from_bits(select(eq(x, x), rounded, 0x7fc00000));
}

Num narrow_bits(Num x, DType type, Isa isa) {
  const FloatFormat& f = row_of(type).format;
  const int width = static_cast<int>(row_of(type).bytes) * 8, drop = 24 - f.digits;
  if (has_instructions(f, isa)) return bits(f16_from_f32(x));
  Num b = bits(x);
  if (has_exponents_of_f32(f)) return resize_signed(shift_right_logical(b, drop), width);
  const auto infinity = static_cast<std::int64_t>(f.infinity());
  const auto min_normal = std::bit_cast<std::int32_t>(std::ldexp(1.0f, f.min_exponent));
  // Added to a subnormal, it moves the last place of the format to that of f32.
  const float places = std::ldexp(1.0f, f.min_exponent - f.fraction_bits() + 23);
  Num size = b & 0x7fffffff;
  Num normal = shift_right_logical(size - bias_of_f32(f), drop);
  Num subnormal = bits(abs(x) + places) - std::bit_cast<std::int32_t>(places);
  Num h = select(lt(size, min_normal), subnormal, select(lt(size, 0x7f800000), normal, infinity));
  h = select(is_nan(x), infinity | std::int64_t{1} << (f.fraction_bits() - 1), h);
  return resize_signed(h | (shift_right_logical(b, 32 - width) & (std::int64_t{1} << (width - 1))), width);
}

Num from_narrow_bits(Num h, DType type, Isa isa) {
  const FloatFormat& f = row_of(type).format;
  const int width = static_cast<int>(row_of(type).bytes) * 8, drop = 24 - f.digits;
  if (has_instructions(f, isa)) return f32_from_f16(from_bits(h));
  Num b = resize_unsigned(h, 32);
  if (has_exponents_of_f32(f)) return from_bits(b << drop);
  const std::int64_t sign = std::int64_t{1} << (width - 1), min_normal = std::int64_t{1} << f.fraction_bits();
  Num size = (b & (sign - 1)) << drop;
  Num normal = size + bias_of_f32(f);
  Num special = size + 2 * bias_of_f32(f);
  Num subnormal =
      bits(from_bits(size + (bias_of_f32(f) + (std::int64_t{1} << 23))) - std::ldexp(1.0, f.min_exponent));
  Num number = select(lt(size, min_normal << drop), subnormal,
                      select(lt(size, static_cast<std::int64_t>(f.infinity()) << drop), normal, special));
  return from_bits(number | ((b & sign) << (32 - width)));
}

}  // namespace kiln::codegen
