#pragma once
#include <kiln/dtype.h>
#include <kiln/shape.h>

#include <string>

namespace kiln {

/// What is known of an array before it has values.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * static_cast<std::int64_t>(size_of(dtype)); }
  bool operator==(const TensorType&) const = default;
  /// "float32 (2, 3)"
  std::string str() const { return std::string(name_of(dtype)) + " " + shape.str(); }
};

}  // namespace kiln
