// A caller's floating-point environment reaches no kernel, on no thread, and is as it was afterwards.
#include "native_kernel.h"

#include <kiln/threads.h>

#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <limits>
#include <vector>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

using namespace kiln;

namespace {

// out[i] = smallest normal / 2, which is zero with flush-to-zero, plus 1/3, which shows the direction of
// rounding in out2
void probe(void* const* b, const std::int64_t*, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    volatile float tiny = std::numeric_limits<float>::min();
    volatile float three = 3;
    volatile float minus_one = -1;
    static_cast<float*>(b[0])[i] = tiny * 0.5f;
    static_cast<float*>(b[1])[i] = minus_one / three;
  }
}

void check_runs_in_default_environment() {
  constexpr std::int64_t n = 4000;
  ExecutablePlan plan;
  plan.outputs = {{DType::f32, {n}}, {DType::f32, {n}}};
  plan.steps = {
      {.operands = {{BufferRef::Space::output, 0}, {BufferRef::Space::output, 1}}, .extent = n, .grain = 10}};
  const Executable e = load_with(std::move(plan), {probe});
  std::vector<float> halves(n), thirds(n);
  void* results[] = {halves.data(), thirds.data()};
  e.run({}, results, {});
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) wrong += halves[i] != 0x1p-127f || thirds[i] != -0x1.555556p-2f;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("the rounding direction of the caller does not reach kernels", "[float_env]") {
  const ThreadLimit threads(GENERATE(1, 3));
  for (int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(direction);
    check_runs_in_default_environment();
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(after == direction);
  }
}

#if defined(__SSE__)
TEST_CASE("flush-to-zero and traps of the caller do not reach kernels, and come back", "[float_env]") {
  const ThreadLimit threads(GENERATE(1, 3));
  const unsigned original = _mm_getcsr();
  for (unsigned csr : {0x1f80u | 0x8040u, 0x1f80u & ~0x0800u /* traps on underflow */, 0x1f80u | 0x3fu}) {
    _mm_setcsr(csr);
    check_runs_in_default_environment();
    const unsigned after = _mm_getcsr();
    _mm_setcsr(original);
    // Comparing the results raises flags itself.
    CHECK((after & ~0x3fu) == (csr & ~0x3fu));
  }
}
#endif
