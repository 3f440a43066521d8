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
  /// MXCSR's control bits of this environment, which a new process has too.
  static constexpr unsigned control = 0x1f80;
  FloatEnv() : saved_(_mm_getcsr()) {
    if ((saved_ & ~flags) != control) _mm_setcsr(control);
  }
  ~FloatEnv() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned flags = 0x3f;  // sticky exception flags
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
