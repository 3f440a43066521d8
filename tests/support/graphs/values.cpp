// Draws the values of an input.
#include "graphs/values.h"

#include <cmath>
#include <limits>
#include <random>

namespace graphs {

using namespace kiln;

namespace {

double min_subnormal(DType d) {
  switch (d) {
    case DType::f64:
      return std::numeric_limits<double>::denorm_min();
    case DType::f16:
      return std::ldexp(1, -24);
    case DType::bf16:
      return std::ldexp(1, -133);
    default:
      return std::numeric_limits<float>::denorm_min();
  }
}

double greatest(DType d) {
  switch (d) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f16:
      return 65504;
    case DType::bf16:
      return std::ldexp(255, 120);
    default:
      return std::numeric_limits<float>::max();
  }
}

Tensor reals(const Shape& shape, DType dtype, std::mt19937_64& random, bool special) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double small = min_subnormal(dtype), great = greatest(dtype);
  const double usual[] = {-0.0, 0, 1, -1, 0.5, -0.5, 2, 3, small, -3 * small, 1.5, -2.5};
  const double rare[] = {nan, infinity, -infinity, great, -great, -nan, 1e4, -1e4};
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& v : values) {
    const std::uint64_t draw = random();
    const double uniform = static_cast<double>(draw >> 11) * 0x1p-53;
    const std::uint64_t choice = draw % 16;
    if (choice < 3)
      v = usual[(draw >> 4) % std::size(usual)];
    else if (choice < 5 && special)
      v = rare[(draw >> 4) % std::size(rare)];
    else if (choice == 5)
      v = (uniform - 0.5) * 40;
    else
      v = (uniform - 0.5) * 4;
  }
  Tensor t = zeros(shape, dtype);
  if (!values.empty()) t.copy_from(values.data(), DType::f64);
  return t;
}

Tensor integers(const Shape& shape, DType dtype, const Values& kind, std::mt19937_64& random, bool special) {
  const bool has_sign = dtype != DType::u8 && dtype != DType::boolean;
  const int bits = static_cast<int>(size_of(dtype)) * 8 - has_sign;
  const std::int64_t most = dtype == DType::boolean ? 1
                            : is_floating(dtype)    ? 100
                                                    : static_cast<std::int64_t>((1ull << bits) - 1);
  const std::int64_t least = is_floating(dtype) ? -100 : has_sign ? -most - 1 : 0;
  const bool indices = kind.kind == Values::Kind::indices;
  special = special && !kind.checked;
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t& v : values) {
    const std::uint64_t draw = random();
    v = indices ? static_cast<std::int64_t>(draw %
                                            static_cast<std::uint64_t>(std::max<std::int64_t>(kind.limit, 1)))
                : static_cast<std::int64_t>(draw % 19) - (has_sign ? 9 : 0);
    if (special && (draw >> 32) % 8 == 0) v = (draw >> 40) % 2 ? most : least;
    if (special && (draw >> 32) % 8 == 1 && has_sign) v = -1;
    if (dtype == DType::boolean) v = v & 1;
  }
  Tensor t = zeros(shape, dtype);
  if (!values.empty()) t.copy_from(values.data(), DType::i64);
  return t;
}

}  // namespace

Tensor make_values(const Shape& shape, DType dtype, const Values& values, std::uint64_t seed, bool special) {
  std::mt19937_64 random(seed);
  if (is_floating(dtype) && values.kind == Values::Kind::any) return reals(shape, dtype, random, special);
  return integers(shape, dtype, values, random, special);
}

}  // namespace graphs
