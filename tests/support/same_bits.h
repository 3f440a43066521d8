// Comparison of arrays by their bits.
#pragma once
#include <kiln/kiln.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

/// The elements so that equal bits compare equal, and all NaNs are one.
inline std::vector<std::uint64_t> bits_of(const kiln::Tensor& t) {
  std::vector<std::uint64_t> bits;
  if (!is_floating(t.dtype())) {
    for (const std::int64_t v : t.to_vector<std::int64_t>()) bits.push_back(static_cast<std::uint64_t>(v));
    return bits;
  }
  for (const double v : t.to_vector<double>())
    bits.push_back(std::isnan(v) ? ~0ull : std::bit_cast<std::uint64_t>(v));
  return bits;
}

inline bool same_bits(const kiln::Tensor& a, const kiln::Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && bits_of(a) == bits_of(b);
}
