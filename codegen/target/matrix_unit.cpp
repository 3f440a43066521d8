// Requests AMX from the system, and compares its products with the products of plain instructions.
#include "codegen/target/matrix_unit.h"

#include "codegen/target/cpu_target.h"
#include "runtime/once.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kiln::codegen {
namespace {

std::atomic<bool> assumed = false;

/// Linux saves the tiles of a process only after it has asked. The grant is refused where a signal stack of
/// the process is too small for them.
bool system_grants_tiles() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

constexpr int side = matrix_unit::rows;  // rows of a tile, and words of a row
static_assert(side == matrix_unit::words);
constexpr int words_of_tile = side * side;

/// Palette 1: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {side, side, side, side, side, side};
};

/// The operands of a sample: A in rows, B in words of k, the totals before.
struct Sample {
  std::uint32_t a[words_of_tile], b[words_of_tile], totals[words_of_tile];
};

// The instructions are spelt out: code of this file is for machines that may lack them.
#define KILN_TILES(MULTIPLY)                                                                           \
  asm volatile(                                                                                        \
      "ldtilecfg %[config]\n\t"                                                                        \
      "tileloadd (%[totals], %[stride], 1), %%tmm0\n\t"                                                \
      "tileloadd (%[a], %[stride], 1), %%tmm1\n\t"                                                     \
      "tileloadd (%[b], %[stride], 1), %%tmm2\n\t" MULTIPLY                                            \
      " %%tmm2, %%tmm1, %%tmm0\n\t"                                                                    \
      "tilestored %%tmm0, (%[totals], %[stride], 1)\n\t"                                               \
      "tilerelease"                                                                                    \
      :                                                                                                \
      : [config] "m"(config), [totals] "r"(s.totals), [a] "r"(s.a), [b] "r"(s.b), [stride] "r"(stride) \
      : "memory")
[[gnu::target("amx-tile,amx-bf16")]] void multiply_pairs(Sample& s) {
  const TileConfig config;
  const std::int64_t stride = 4 * side;
  KILN_TILES("tdpbf16ps");
}
[[gnu::target("amx-tile,amx-int8")]] void multiply_bytes(Sample& s) {
  const TileConfig config;
  const std::int64_t stride = 4 * side;
  KILN_TILES("tdpbusd");
}
#undef KILN_TILES

#define KILN_CHAINS(MULTIPLY)                                                                           \
  asm volatile("ldtilecfg %0" : : "m"(config));                                                         \
  for (std::int64_t i = 0; i < count; i += 4)                                                           \
    asm volatile(MULTIPLY " %%tmm4, %%tmm5, %%tmm0\n\t" MULTIPLY " %%tmm4, %%tmm5, %%tmm1\n\t" MULTIPLY \
                          " %%tmm4, %%tmm5, %%tmm2\n\t" MULTIPLY " %%tmm4, %%tmm5, %%tmm3" ::);         \
  asm volatile("tilerelease" ::)
[[gnu::target("amx-tile,amx-bf16")]] void run_pairs(std::int64_t count) {
  const TileConfig config;
  KILN_CHAINS("tdpbf16ps");
}
[[gnu::target("amx-tile,amx-int8")]] void run_bytes(std::int64_t count) {
  const TileConfig config;
  KILN_CHAINS("tdpbusd");
}
#undef KILN_CHAINS

/// The definition of paired32 (kiln.dot in ir/KilnOps.td), in plain arithmetic that flushes subnormals.
float sum_of_pairs(const std::uint32_t* a, const std::uint32_t* b, float total) {
  const auto half = [](std::uint32_t word, bool odd) {
    return std::bit_cast<float>(odd ? word & 0xffff0000U : word << 16);
  };
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | _MM_FLUSH_ZERO_ON | 0x40);  // results, and operands
  volatile float chains[2] = {0, 0};
  for (const bool odd : {false, true})
    for (int k = 0; k < side; ++k) {
      const volatile float x = half(a[k], odd), y = half(b[k * side], odd);
      chains[odd] = std::fma(x, y, chains[odd]);
    }
  const volatile float before = total, step = chains[0] + chains[1];
  const volatile float sum = before + step;
  _mm_setcsr(mode);
  return sum;
}

std::uint32_t sum_of_bytes(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t total) {
  for (int k = 0; k < side; ++k)
    for (int byte = 0; byte < 4; ++byte)
      total += (a[k] >> 8 * byte & 255U) *
               static_cast<std::uint32_t>(static_cast<std::int8_t>(b[k * side] >> 8 * byte & 255U));
  return total;
}

/// Words of bf16 of many exponents, some subnormal; totals likewise.
Sample sample_of_pairs(std::uint32_t seed) {
  Sample s;
  const auto next = [&] { return seed = seed * 1664525U + 1013904223U; };
  const auto bits = [&] {
    const std::uint32_t sign = next() >> 31 << 15,
                        exponent = (next() >> 16) % 3 == 0 ? (next() >> 24) % 80 : 64;
    return sign | exponent << 7 | next() >> 25;
  };
  for (std::uint32_t* words : {s.a, s.b})
    for (int i = 0; i < words_of_tile; ++i) words[i] = bits() | bits() << 16;
  for (std::uint32_t& total : s.totals) total = next() % 2 == 0 ? 0 : bits() << 16 & 0x87ffffffU;
  return s;
}

bool has_expected_bits() {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const Sample pairs = sample_of_pairs(seed);
    Sample sums = pairs, words = pairs;
    multiply_pairs(sums);
    multiply_bytes(words);
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column) {
        const int i = row * side + column;
        const std::uint32_t *a = pairs.a + row * side, *b = pairs.b + column;
        const float expected = sum_of_pairs(a, b, std::bit_cast<float>(pairs.totals[i]));
        if (sums.totals[i] != std::bit_cast<std::uint32_t>(expected) ||
            words.totals[i] != sum_of_bytes(a, b, pairs.totals[i]))
          return false;
      }
  }
  return true;
}

}  // namespace

bool has_matrix_unit() {
  return once<[] {
    return (assumed.load() || (host_has({"amx-tile", "amx-bf16", "amx-int8"}) && system_grants_tiles())) &&
           has_expected_bits();
  }>();
}

void run_matrix_unit(MatrixProducts products, std::int64_t count) {
  products == MatrixProducts::pairs ? run_pairs(count) : run_bytes(count);
}

void detail::assume_matrix_unit() { assumed = true; }

}  // namespace kiln::codegen
