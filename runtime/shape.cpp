#include "runtime/fail.h"

#include <kiln/shape.h>

namespace kiln {

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

std::int64_t Shape::elements() const {
  std::int64_t n = 1;
  bool overflow = false;
  for (const std::int64_t d : *this) {
    if (d == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(n, d, &n);
  }
  if (overflow) fail("the shape {} has more elements than fit in 64 bits", str());
  return n;
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
