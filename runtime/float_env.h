// The floating-point environment of kernels.
#pragma once
#if defined(__SSE__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace kiln {

/// During its lifetime, this thread has the floating-point environment in which Kiln's results are defined:
/// round to nearest, subnormals kept, no traps. Restores the caller's environment, exception flags included.
/// Costs some nanoseconds.
class FloatEnv {
 public:
  FloatEnv(const FloatEnv&) = delete;
  FloatEnv& operator=(const FloatEnv&) = delete;

#if defined(__SSE__)
  FloatEnv() : saved_(_mm_getcsr()) {
    if ((saved_ & ~flags) != all_masked) _mm_setcsr(all_masked);
  }
  ~FloatEnv() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned flags = 0x3f;         // sticky exception flags
  static constexpr unsigned all_masked = 0x1f80;  // the control bits of a new process
  unsigned saved_;
#else
  FloatEnv() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnv() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

}  // namespace kiln
