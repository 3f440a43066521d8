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

/// One fused multiply-add of each chain.
template <class Vector>
[[gnu::always_inline]] inline void fused(Vector& s, const Vector& x, const Vector& y) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(s) : "v"(x), "v"(y));
}
/// The two instructions of processors without fused ones.
[[gnu::always_inline]] inline void two_steps(float& s, const float& x, const float& y) {
  asm volatile("mulss %1, %0\n\taddss %2, %0" : "+x"(s) : "x"(x), "x"(y));
}

template <class Vector, void (*step)(Vector&, const Vector&, const Vector&)>
[[gnu::always_inline]] inline void run_chains() {
  const Vector x = Vector{} + 0.5F, y = Vector{} + 0.25F;
  Vector a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x;
  for (std::int64_t n = 0; n < peak_steps; ++n) {
    step(a, x, y), step(b, x, y), step(c, x, y), step(d, x, y);
    step(e, x, y), step(f, x, y), step(g, x, y), step(h, x, y);
    step(i, x, y), step(j, x, y), step(k, x, y), step(l, x, y);
  }
}
[[gnu::target("avx512f")]] void run_avx512() { run_chains<PeakVector512, fused<PeakVector512>>(); }
[[gnu::target("avx2,fma")]] void run_avx2() { run_chains<PeakVector256, fused<PeakVector256>>(); }
void run_scalar() { run_chains<float, two_steps>(); }

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
