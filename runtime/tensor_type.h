// Types of arrays, and counts of elements and bytes without overflow.
#pragma once
#include <kiln/dtype.h>
#include <kiln/shape.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace kiln {

/// The product of the extents times `factor`, 0 if an extent is 0. Nothing if it does not fit in 64 bits;
/// extents of 0 do not excuse that, since strides skip them. All counts of elements and bytes use this
/// function.
std::optional<std::int64_t> product_of(std::span<const std::int64_t> extents, std::int64_t factor = 1);

/// The bytes that a process on x86-64 can address; no array has more. Sums of the sizes of a network's arrays
/// therefore fit in 64 bits.
inline constexpr std::int64_t max_array_bytes = std::int64_t{1} << 47;

/// The type of an array: known before it has values.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  /// Throws kiln::Error for more than max_array_bytes.
  std::int64_t bytes() const;
  bool operator==(const TensorType&) const = default;
  /// "float32 (2, 3)"
  std::string str() const { return std::string(name_of(dtype)) + " " + shape.str(); }
};

}  // namespace kiln
