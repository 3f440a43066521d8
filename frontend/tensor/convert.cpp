#include "frontend/tensor/convert.h"

#include <cstring>
#include <limits>

namespace kiln {
namespace {

// Rounds a double to a binary format of `mantissa` explicit bits whose smallest normal exponent is
// `min_exponent`, and returns the bit pattern without the sign. Overflow gives infinity.
std::uint32_t round_to_format(double magnitude, int mantissa, int min_exponent, int max_exponent) {
  const std::uint32_t infinity = static_cast<std::uint32_t>(max_exponent - min_exponent + 2) << mantissa;
  if (std::isnan(magnitude)) return infinity | (1u << (mantissa - 1));
  if (std::isinf(magnitude)) return infinity;
  if (magnitude == 0) return 0;
  int exponent = std::ilogb(magnitude);
  if (exponent < min_exponent) exponent = min_exponent;
  // In units of the last place; nearbyint rounds ties to even at any scale.
  const double units = std::nearbyint(std::scalbn(magnitude, mantissa - exponent));
  const auto whole = static_cast<std::uint64_t>(units);
  // For normal numbers `whole` includes the implicit bit, which carries into the exponent by addition.
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent - min_exponent) << mantissa) + whole;
  return bits >= infinity ? infinity : static_cast<std::uint32_t>(bits);
}

std::uint16_t to_16_bits(double value, int mantissa, int min_exponent, int max_exponent) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  return static_cast<std::uint16_t>(sign |
                                    round_to_format(std::fabs(value), mantissa, min_exponent, max_exponent));
}

std::int64_t to_integer(double v) {
  if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0))
    return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(v);
}

template <class T>
T load(const void* data, std::size_t i) {
  T v;
  std::memcpy(&v, static_cast<const std::byte*>(data) + i * sizeof(T), sizeof(T));
  return v;
}
template <class T>
void store(void* data, std::size_t i, T v) {
  std::memcpy(static_cast<std::byte*>(data) + i * sizeof(T), &v, sizeof(T));
}

void store_integer(void* data, DType dtype, std::size_t i, std::int64_t v) {
  switch (dtype) {
    case DType::u8:
      return store(data, i, static_cast<std::uint8_t>(v));
    case DType::i8:
      return store(data, i, static_cast<std::int8_t>(v));
    case DType::i32:
      return store(data, i, static_cast<std::int32_t>(v));
    case DType::i64:
      return store(data, i, v);
    case DType::boolean:
      return store(data, i, static_cast<std::uint8_t>(v != 0));
    case DType::f32:
      return store(data, i, static_cast<float>(v));
    case DType::f64:
      return store(data, i, static_cast<double>(v));
    case DType::f16:
      return store(data, i, double_to_half(static_cast<double>(v)));
    case DType::bf16:
      return store(data, i, double_to_bfloat(static_cast<double>(v)));
  }
}

void store_real(void* data, DType dtype, std::size_t i, double v) {
  switch (dtype) {
    case DType::f32:
      return store(data, i, static_cast<float>(v));
    case DType::f64:
      return store(data, i, v);
    case DType::f16:
      return store(data, i, double_to_half(v));
    case DType::bf16:
      return store(data, i, double_to_bfloat(v));
    case DType::boolean:
      return store(data, i, static_cast<std::uint8_t>(v != 0));
    default:
      return store_integer(data, dtype, i, to_integer(v));
  }
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
  return sign ? -magnitude : magnitude;
}

std::uint16_t double_to_half(double value) { return to_16_bits(value, 10, -14, 15); }
std::uint16_t float_to_half(float value) { return double_to_half(value); }
std::uint16_t double_to_bfloat(double value) { return to_16_bits(value, 7, -126, 127); }

double real_at(const void* data, DType dtype, std::size_t i) {
  switch (dtype) {
    case DType::f32:
      return load<float>(data, i);
    case DType::f64:
      return load<double>(data, i);
    case DType::f16:
      return half_to_float(load<std::uint16_t>(data, i));
    case DType::bf16:
      return bfloat_to_float(load<std::uint16_t>(data, i));
    default:
      return static_cast<double>(integer_at(data, dtype, i));
  }
}

std::int64_t integer_at(const void* data, DType dtype, std::size_t i) {
  switch (dtype) {
    case DType::u8:
      return load<std::uint8_t>(data, i);
    case DType::i8:
      return load<std::int8_t>(data, i);
    case DType::i32:
      return load<std::int32_t>(data, i);
    case DType::i64:
      return load<std::int64_t>(data, i);
    case DType::boolean:
      return load<std::uint8_t>(data, i) != 0;
    default:
      return to_integer(real_at(data, dtype, i));
  }
}

void convert_elements(const void* from, DType from_type, void* to, DType to_type, std::size_t n) {
  if (n == 0) return;
  if (from_type == to_type) {
    std::memmove(to, from, n * size_of(from_type));
    return;
  }
  if (from_type == DType::f64 && to_type == DType::f32) {
    // The common case, without the choice of a type for each element.
    for (std::size_t i = 0; i < n; ++i) store(to, i, static_cast<float>(load<double>(from, i)));
    return;
  }
  const bool real = is_floating(from_type);
  for (std::size_t i = 0; i < n; ++i) {
    if (real) {
      store_real(to, to_type, i, real_at(from, from_type, i));
    } else {
      store_integer(to, to_type, i, integer_at(from, from_type, i));
    }
  }
}

}  // namespace kiln
