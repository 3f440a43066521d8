// Rounds doubles to narrow formats, and elements between dtypes.
#include "frontend/tensor/convert.h"

#include "runtime/dtype_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kiln {
namespace {

// Rounds a double to a format, and returns the bit pattern without the sign. Overflow gives infinity.
std::uint64_t round_to_format(double magnitude, const FloatFormat& f) {
  const int fraction_bits = f.fraction_bits();
  const std::uint64_t infinity = f.infinity();
  if (std::isnan(magnitude)) return infinity | std::uint64_t{1} << (fraction_bits - 1);
  if (std::isinf(magnitude)) return infinity;
  if (magnitude == 0) return 0;
  const int exponent = std::max(std::ilogb(magnitude), f.min_exponent);
  // In units of the last place; nearbyint rounds ties to even at any scale.
  const double units = std::nearbyint(std::scalbn(magnitude, fraction_bits - exponent));
  const auto whole = static_cast<std::uint64_t>(units);
  // For normal numbers `whole` includes the implicit bit, which carries into the exponent by addition.
  return std::min(infinity, (static_cast<std::uint64_t>(exponent - f.min_exponent) << fraction_bits) + whole);
}

std::uint64_t bits_from_double(double value, const DTypeRow& row) {
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (8 * row.bytes - 1) : 0;
  return sign | round_to_format(std::fabs(value), row.format);
}

double double_from_bits(std::uint64_t bits, const DTypeRow& row) {
  const FloatFormat& f = row.format;
  const int fraction_bits = f.fraction_bits();
  const std::uint64_t sign = bits >> (8 * row.bytes - 1), magnitude = bits & ~(sign << (8 * row.bytes - 1));
  const std::uint64_t exponent = magnitude >> fraction_bits;
  const std::uint64_t fraction = (magnitude & ((std::uint64_t{1} << fraction_bits) - 1))
                                 << (52 - fraction_bits);
  constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 52, quiet = std::uint64_t{1} << 51;
  const auto with_sign = [&](std::uint64_t b) { return std::bit_cast<double>(sign << 63 | b); };
  if (magnitude > f.infinity()) return with_sign(infinity | quiet | fraction);
  if (magnitude == f.infinity()) return with_sign(infinity);
  if (exponent != 0)
    return with_sign((exponent + static_cast<std::uint64_t>(f.min_exponent + 1022)) << 52 | fraction);
  return std::copysign(std::ldexp(static_cast<double>(magnitude), f.min_exponent - fraction_bits),
                       with_sign(0));
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

// Elements of any width as their bits.
static_assert(std::endian::native == std::endian::little);
std::uint64_t load_bits(const void* data, std::size_t width, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(data) + i * width, width);
  return bits;
}
void store_bits(void* data, std::size_t width, std::size_t i, std::uint64_t bits) {
  std::memcpy(static_cast<std::byte*>(data) + i * width, &bits, width);
}

void store_real(void* data, const DTypeRow& row, std::size_t i, double v) {
  switch (row.kind) {
    case DTypeKind::floating:
      if (row.dtype == DType::f32) return store(data, i, static_cast<float>(v));
      if (row.dtype == DType::f64) return store(data, i, v);
      return store_bits(data, row.bytes, i, bits_from_double(v, row));
    case DTypeKind::boolean:
      return store(data, i, static_cast<std::uint8_t>(v != 0));
    default:
      return store_bits(data, row.bytes, i, static_cast<std::uint64_t>(to_integer(v)));
  }
}

void store_integer(void* data, const DTypeRow& row, std::size_t i, std::int64_t v) {
  if (row.dtype == DType::f32) return store(data, i, static_cast<float>(v));  // with one rounding
  if (row.kind == DTypeKind::floating) return store_real(data, row, i, static_cast<double>(v));
  store_bits(data, row.bytes, i, static_cast<std::uint64_t>(row.kind == DTypeKind::boolean ? v != 0 : v));
}

}  // namespace

double round_to(DType dtype, double value) {
  const DTypeRow& row = row_of(dtype);
  return double_from_bits(bits_from_double(value, row), row);
}

double real_at(const void* data, DType dtype, std::size_t i) {
  if (dtype == DType::f32) return load<float>(data, i);
  if (dtype == DType::f64) return load<double>(data, i);
  const DTypeRow& row = row_of(dtype);
  if (row.kind == DTypeKind::floating) return double_from_bits(load_bits(data, row.bytes, i), row);
  return static_cast<double>(integer_at(data, dtype, i));
}

std::int64_t integer_at(const void* data, DType dtype, std::size_t i) {
  const DTypeRow& row = row_of(dtype);
  if (row.kind == DTypeKind::floating) return to_integer(real_at(data, dtype, i));
  const std::uint64_t bits = load_bits(data, row.bytes, i);
  if (row.kind == DTypeKind::boolean) return bits != 0;
  if (row.kind == DTypeKind::unsigned_integer) return static_cast<std::int64_t>(bits);
  const std::size_t unused = 64 - 8 * row.bytes;  // whose bits are copies of the sign
  return static_cast<std::int64_t>(bits << unused) >> unused;
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
  const DTypeRow& to_row = row_of(to_type);
  for (std::size_t i = 0; i < n; ++i) {
    if (real) {
      store_real(to, to_row, i, real_at(from, from_type, i));
    } else {
      store_integer(to, to_row, i, integer_at(from, from_type, i));
    }
  }
}

}  // namespace kiln
