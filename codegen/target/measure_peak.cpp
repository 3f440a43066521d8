// Measures rates of multiply-adds: independent chains of instructions that a compiler cannot change.
#include "codegen/target/measure_peak.h"

#include "codegen/target/matrix_unit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace kiln::codegen {
namespace {

using PeakVector256 = float __attribute__((vector_size(32)));
using PeakVector512 = float __attribute__((vector_size(64)));
using PeakWords256 = std::int32_t __attribute__((vector_size(32)));
using PeakWords512 = std::int32_t __attribute__((vector_size(64)));

/// Chains in flight: more than the latency of an instruction times the units that execute it.
constexpr int chains = 12;
constexpr std::int64_t peak_steps = 20'000;
constexpr int bytes_of_lane = 4;

/// A step of the chain `s`: a fused multiply-add, or the two instructions of processors without one.
#define KILN_FUSED_STEP(s) asm volatile("vfmadd231ps %2, %1, %0" : "+v"(s) : "v"(x), "v"(y));
#define KILN_TWO_STEPS(s) asm volatile("mulss %1, %0\n\taddss %2, %0" : "+x"(s) : "x"(x), "x"(y));
/// Steps of bytes: four products of each lane of 32 bits.
#define KILN_VNNI_STEP(s) asm volatile("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x), "v"(y));
#define KILN_AVX_VNNI_STEP(s) asm volatile("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s) : "x"(x), "x"(y));
#define KILN_PAIRS_STEP(s)                                                                            \
  asm volatile("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0\n\tvpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0" \
               : "+v"(s), "=&v"(products)                                                             \
               : "v"(x), "v"(y));
/// One product.
#define KILN_WORD_STEP(s) asm volatile("imull %1, %0\n\taddl %2, %0" : "+r"(s) : "r"(x), "r"(y));

/// Runs all chains with a STEP. A macro: the asm needs the instruction set of its own function, and a
/// template has none.
#define KILN_RUN_CHAINS(VECTOR, STEP)                                                                 \
  {                                                                                                   \
    using Vector = VECTOR;                                                                            \
    const Vector x = Vector{} + 1, y = Vector{} + 2;                                                  \
    [[maybe_unused]] Vector products;                                                                 \
    Vector a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x;        \
    for (std::int64_t n = 0; n < peak_steps; ++n) {                                                   \
      STEP(a) STEP(b) STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(l) \
    }                                                                                                 \
  }
[[gnu::target("avx512f")]] void run_avx512() { KILN_RUN_CHAINS(PeakVector512, KILN_FUSED_STEP) }
[[gnu::target("avx2,fma")]] void run_avx2() { KILN_RUN_CHAINS(PeakVector256, KILN_FUSED_STEP) }
void run_scalar() { KILN_RUN_CHAINS(float, KILN_TWO_STEPS) }
[[gnu::target("avx512f")]] void run_vnni512() { KILN_RUN_CHAINS(PeakWords512, KILN_VNNI_STEP) }
[[gnu::target("avx2")]] void run_vnni256() { KILN_RUN_CHAINS(PeakWords256, KILN_AVX_VNNI_STEP) }
[[gnu::target("avx512bw")]] void run_pairs512() { KILN_RUN_CHAINS(PeakWords512, KILN_PAIRS_STEP) }
[[gnu::target("avx2")]] void run_pairs256() { KILN_RUN_CHAINS(PeakWords256, KILN_PAIRS_STEP) }
void run_words() { KILN_RUN_CHAINS(std::int32_t, KILN_WORD_STEP) }
#undef KILN_FUSED_STEP
#undef KILN_TWO_STEPS
#undef KILN_VNNI_STEP
#undef KILN_AVX_VNNI_STEP
#undef KILN_PAIRS_STEP
#undef KILN_WORD_STEP
#undef KILN_RUN_CHAINS

/// Steps per second, of all chains together.
double measure_steps(void (*run)()) {
  using Clock = std::chrono::steady_clock;
  double seconds = 1;
  for (int pass = 0; pass < 8; ++pass) {
    const auto begin = Clock::now();
    run();
    seconds = std::min(seconds, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return static_cast<double>(peak_steps * chains) / std::max(seconds, 1e-9);
}

template <MatrixProducts products>
double measure_on_matrix_unit() {
  return measure_steps([] { run_matrix_unit(products, peak_steps * chains); }) *
         static_cast<double>(multiply_adds_of_matrix_unit(products));
}

}  // namespace

double measure_multiply_adds(const CpuTarget& target) {
  const auto run = target.isa == Isa::avx512 ? run_avx512 : target.isa == Isa::avx2 ? run_avx2 : run_scalar;
  return measure_steps(run) * target.lanes(4);
}

double measure_pair_multiply_adds(const CpuTarget& target) {
  return target.amx ? measure_on_matrix_unit<MatrixProducts::pairs>() : measure_multiply_adds(target);
}

double measure_byte_multiply_adds(const CpuTarget& target) {
  if (target.amx) return measure_on_matrix_unit<MatrixProducts::bytes>();
  if (target.isa == Isa::scalar) return measure_steps(run_words);
  const bool wide = target.isa == Isa::avx512;
  const auto run = target.vnni ? (wide ? run_vnni512 : run_vnni256) : (wide ? run_pairs512 : run_pairs256);
  return measure_steps(run) * target.lanes(4) * bytes_of_lane;
}

}  // namespace kiln::codegen
