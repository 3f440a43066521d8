// Counts of elements and bytes, and shapes as text.
#include "runtime/fail.h"
#include "runtime/tensor_type.h"

#include <kiln/shape.h>

namespace kiln {
namespace {

// Out of line: error paths must not slow the size computation of every call.
[[noreturn, gnu::cold, gnu::noinline]] void fail_too_large(const TensorType& type,
                                                           std::optional<std::int64_t> bytes) {
  fail("an array of the shape {} and dtype {} takes {} bytes, more than the {} that a process can address",
       type.shape.str(), name_of(type.dtype), bytes ? std::to_string(*bytes) : "2^63 or more",
       max_array_bytes);
}
[[noreturn, gnu::cold, gnu::noinline]] void fail_too_many(const Shape& shape) {
  fail("the shape {} has more elements than fit in 64 bits", shape.str());
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > static_cast<std::size_t>(max_rank))
    fail("a shape of {} dimensions: Kiln's arrays have at most {}", dims.size(), max_rank);
  for (const std::int64_t d : dims) dims_[static_cast<std::size_t>(rank_++)] = d;
}

void Shape::push_back(std::int64_t dim) {
  if (rank_ == max_rank)
    fail("a shape of more than {} dimensions: Kiln's arrays have at most that many", max_rank);
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

std::size_t Shape::place_from_end(std::int64_t i, const std::source_location& where) const {
  if (i < 0 && i >= -rank_) return static_cast<std::size_t>(i + rank_);
  fail("{}: index {} is out of range: the shape {} has rank {}", SourceLocation(where).str(), i, str(),
       rank_);
}

std::optional<std::int64_t> product_of(std::span<const std::int64_t> extents, std::int64_t factor) {
  std::int64_t product = factor;
  bool empty = false;
  for (const std::int64_t d : extents) {
    if (d == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, d, &product))
      return {};
  }
  return empty ? 0 : product;
}

std::int64_t Shape::elements() const {
  const auto n = product_of(dims());
  if (!n) [[unlikely]]
    fail_too_many(*this);
  return *n;
}

std::int64_t TensorType::bytes() const {
  const auto n = product_of(shape.dims(), static_cast<std::int64_t>(size_of(dtype)));
  if (!n || *n > max_array_bytes) [[unlikely]]
    fail_too_large(*this, n);
  return *n;
}

std::string Shape::str() const {
  std::string s = "(";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) s += ", ";
    s += std::to_string(dims_[static_cast<std::size_t>(i)]);
  }
  return s + (rank_ == 1 ? ",)" : ")");
}

}  // namespace kiln
