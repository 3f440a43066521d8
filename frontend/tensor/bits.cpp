// Compares arrays by their bits.
#include "frontend/tensor/bits.h"

#include "frontend/tensor/elements.h"
#include "runtime/dtype_table.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace kiln::detail {
namespace {

std::uint64_t bits_at(const void* data, std::size_t width, std::int64_t i) {
  std::uint64_t bits = 0;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&bits, static_cast<const std::byte*>(data) + static_cast<std::size_t>(i) * width, width);
  return bits;
}

bool is_nan(DType d, std::uint64_t bits) {
  const DTypeRow& row = row_of(d);
  const std::uint64_t sign = std::uint64_t{1} << (8 * row.bytes - 1);
  return row.kind == DTypeKind::floating && (bits & ~sign) > row.format.infinity();
}

}  // namespace

std::optional<std::int64_t> first_difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return -1;
  const HostElements of_a(a), of_b(b);
  const void* const x = of_a.data();
  const void* const y = of_b.data();
  std::size_t width = size_of(a.dtype());
  std::int64_t n = a.size();
  if (n == 0 || std::memcmp(x, y, static_cast<std::size_t>(n) * width) == 0) return {};
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t p = bits_at(x, width, i), q = bits_at(y, width, i);
    if (p != q && !(is_nan(a.dtype(), p) && is_nan(a.dtype(), q))) return i;
  }
  return {};
}

std::string element_text(const Tensor& t, std::int64_t index) {
  std::size_t width = size_of(t.dtype());
  std::uint64_t bits = bits_at(HostElements(t).data(), width, index);
  std::string hex = fmt::format("0x{:0{}x}", bits, 2 * width);
  if (!is_floating(t.dtype())) return hex;
  return fmt::format("{} ({})", t.astype(DType::f64).to_vector<double>()[static_cast<std::size_t>(index)],
                     hex);
}

}  // namespace kiln::detail
