// Measures the rate of multiply-adds: independent chains of one instruction, which a compiler cannot change.
#include "codegen/target/measure_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace kiln::codegen {
namespace {

using PeakVector256 = float __attribute__((vector_size(32)));
using PeakVector512 = float __attribute__((vector_size(64)));

/// Chains in flight: more than the latency of an instruction times the units that execute it.
constexpr int chains = 12;
constexpr std::int64_t peak_steps = 20'000;

/// One instruction of the chain `s`: a fused multiply-add, or the two instructions of processors without one.
#define KILN_FUSED_STEP(s) asm volatile("vfmadd231ps %2, %1, %0" : "+v"(s) : "v"(x), "v"(y));
#define KILN_TWO_STEPS(s) asm volatile("mulss %1, %0\n\taddss %2, %0" : "+x"(s) : "x"(x), "x"(y));

/// Runs all chains of vectors with a STEP. A macro: the asm needs the instruction set of its own function,
/// and a template has none.
#define KILN_RUN_CHAINS(VECTOR, STEP)                                                                 \
  {                                                                                                   \
    using Vector = VECTOR;                                                                            \
    const Vector x = Vector{} + 0.5F, y = Vector{} + 0.25F;                                           \
    Vector a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x;        \
    for (std::int64_t n = 0; n < peak_steps; ++n) {                                                   \
      STEP(a) STEP(b) STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(l) \
    }                                                                                                 \
  }
[[gnu::target("avx512f")]] void run_avx512() { KILN_RUN_CHAINS(PeakVector512, KILN_FUSED_STEP) }
[[gnu::target("avx2,fma")]] void run_avx2() { KILN_RUN_CHAINS(PeakVector256, KILN_FUSED_STEP) }
void run_scalar() { KILN_RUN_CHAINS(float, KILN_TWO_STEPS) }
#undef KILN_FUSED_STEP
#undef KILN_TWO_STEPS
#undef KILN_RUN_CHAINS

}  // namespace

double measure_multiply_adds(int vector_bytes) {
  using Clock = std::chrono::steady_clock;
  const int lanes = std::max(vector_bytes / 4, 1);
  void (*const run)() = vector_bytes == 64 ? run_avx512 : vector_bytes == 32 ? run_avx2 : run_scalar;
  double seconds = 1;
  for (int pass = 0; pass < 8; ++pass) {
    const auto begin = Clock::now();
    run();
    seconds = std::min(seconds, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return static_cast<double>(peak_steps * chains * lanes) / std::max(seconds, 1e-9);
}

}  // namespace kiln::codegen
