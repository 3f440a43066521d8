// Products of matrices by a warp.
#include "tensor_cores.h"

#include <bit>
#include <cmath>
#include <limits>

namespace kiln::ptx {
namespace {

double of_f16(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), digits = static_cast<int>(bits & 1023);
  const double size = exponent == 31  ? (digits == 0 ? std::numeric_limits<double>::infinity()
                                                     : std::numeric_limits<double>::quiet_NaN())
                      : exponent == 0 ? std::ldexp(digits, -24)
                                      : std::ldexp(1024 + digits, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

double of_f32(std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }

/// Value `i` of a word.
double value_of(Mma form, std::uint32_t word, int i) {
  // The bits that TF32 does not have are not read.
  if (form == Mma::tf32) return of_f32(word & ~0x1fffU);
  const std::uint32_t half = word >> (16 * i) & 0xffff;
  return form == Mma::f16 ? of_f16(half) : of_f32(half << 16);
}

}  // namespace

std::optional<Mma> mma_of(std::string_view opcode) {
  if (opcode == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") return Mma::f16;
  if (opcode == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") return Mma::bf16;
  if (opcode == "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") return Mma::tf32;
  return {};
}

std::array<std::array<std::uint32_t, 4>, 32> multiply_add(Mma form,
                                                          const std::array<MmaFragments, 32>& lanes) {
  constexpr int rows = 16, columns = 8, words = 8;
  const int values = form == Mma::tf32 ? 1 : 2;
  std::array<std::array<double, 2 * words>, rows> a{};
  std::array<std::array<double, 2 * words>, columns> b{};
  for (int lane = 0; lane < 32; ++lane) {
    const auto group = static_cast<std::size_t>(lane / 4);
    const MmaFragments& f = lanes[static_cast<std::size_t>(lane)];
    for (std::size_t i = 0; i < 4; ++i)
      for (int v = 0; v < values; ++v) {
        const auto k = static_cast<std::size_t>((lane % 4 + static_cast<int>(i % 4 / 2) * 4) * values + v);
        a[group + i % 2 * 8][k] = value_of(form, f.a[i], v);
      }
    for (std::size_t i = 0; i < 2; ++i)
      for (int v = 0; v < values; ++v)
        b[group][static_cast<std::size_t>((lane % 4 + static_cast<int>(i) * 4) * values + v)] =
            value_of(form, f.b[i], v);
  }
  std::array<std::array<std::uint32_t, 4>, 32> d{};
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 4; ++i) {
      const auto &row = a[lane / 4 + i / 2 * 8], &column = b[lane % 4 * 2 + i % 2];
      double sum = of_f32(lanes[lane].c[i]);
      for (std::size_t k = 0; k < static_cast<std::size_t>(words * values); ++k)
        sum += row[k] * column[k];  // the product is exact
      d[lane][i] = std::isnan(sum) ? 0x7fffffff : std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
  return d;
}

}  // namespace kiln::ptx
