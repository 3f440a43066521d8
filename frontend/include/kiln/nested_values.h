// Values in vectors and arrays of C++, nested, as the elements of a Tensor.
#pragma once
#include <kiln/dtype.h>
#include <kiln/export.h>
#include <kiln/shape.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

namespace kiln::detail {

/// The number of vectors and arrays around an element, and the element's type.
template <class V>
struct Nested {
  static constexpr int rank = 0;
  using Element = V;
};
template <class V, class Allocator>
struct Nested<std::vector<V, Allocator>> {
  static constexpr int rank = Nested<V>::rank + 1;
  using Element = typename Nested<V>::Element;
};
template <class V, std::size_t n>
struct Nested<std::array<V, n>> {
  static constexpr int rank = Nested<V>::rank + 1;
  using Element = typename Nested<V>::Element;
};

template <class V>
concept NestedValues = Nested<V>::rank != 0 && std::is_arithmetic_v<typename Nested<V>::Element>;

/// Throws kiln::Error for the row at `path`, which has `count` values and not `expected`.
[[noreturn]] KILN_API void fail_ragged(std::span<const std::int64_t> path, std::int64_t count,
                                       std::int64_t expected, std::source_location where);

/// The elements of nested values in C order, and their shape. Throws kiln::Error for rows of different
/// lengths.
template <NestedValues V>
class FlatValues {
 public:
  FlatValues(const V& nested, std::source_location where) {
    measure(nested);
    append(nested, 0, where);
  }

 private:
  using Element = typename Nested<V>::Element;
  static_assert(Nested<V>::rank <= Shape::max_rank, "an array of Kiln has at most 8 axes");

  template <class Row>
  void measure(const Row& row) {
    if constexpr (Nested<Row>::rank > 0) {
      shape.push_back(static_cast<std::int64_t>(row.size()));
      if constexpr (Nested<typename Row::value_type>::rank > 0)
        measure(row.empty() ? typename Row::value_type() : row[0]);
    }
  }
  template <class Row>
  void append(const Row& row, std::size_t axis, std::source_location where) {
    const auto count = static_cast<std::int64_t>(row.size());
    if (count != shape[axis]) fail_ragged({path_, axis}, count, shape[axis], where);
    if constexpr (Nested<typename Row::value_type>::rank > 0) {
      path_[axis] = 0;
      for (const auto& inner : row) {
        append(inner, axis + 1, where);
        ++path_[axis];
      }
    } else {
      values.insert(values.end(), row.begin(), row.end());
    }
  }

  std::int64_t path_[Shape::max_rank] = {};

 public:
  // A vector of bool has no array of its elements.
  std::vector<std::conditional_t<std::same_as<Element, bool>, std::uint8_t, Element>> values;
  Shape shape;
  static constexpr DType dtype = dtype_of<Element>;
};

}  // namespace kiln::detail
