// Conversion of elements on the host.
#pragma once
#include <kiln/dtype.h>

#include <cstddef>
#include <cstdint>

/// Conversion of elements on the host, for element access. Operators never use it.
namespace kiln {

/// The number of a float type that is nearest to `value`: one rounding, ties to even.
double round_to(DType dtype, double value);

/// Element `i` of an array.
double real_at(const void* data, DType dtype, std::size_t i);
std::int64_t integer_at(const void* data, DType dtype, std::size_t i);

/// Copies n elements with conversion: floats round to nearest even, integers wrap, an out-of-range float
/// becomes the smallest i64, bool is x != 0.
void convert_elements(const void* from, DType from_type, void* to, DType to_type, std::size_t n);

}  // namespace kiln
