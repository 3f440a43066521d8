#pragma once
#include <kiln/dtype.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

/// Conversion of elements on the host, for element access. Operators never use it.
namespace kiln {

float half_to_float(std::uint16_t bits);
/// Rounds to nearest even.
std::uint16_t float_to_half(float value);
/// Directly from double, with one rounding.
std::uint16_t double_to_half(double value);
inline float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t double_to_bfloat(double value);

/// Element `i` of an array.
double real_at(const void* data, DType dtype, std::size_t i);
std::int64_t integer_at(const void* data, DType dtype, std::size_t i);

/// Copies n elements with conversion: floats round to nearest even, integers wrap, an out-of-range float
/// becomes the smallest i64, bool is x != 0.
void convert_elements(const void* from, DType from_type, void* to, DType to_type, std::size_t n);

}  // namespace kiln
