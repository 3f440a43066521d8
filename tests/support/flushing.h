// A thread that flushes subnormals, as paired32 is defined.
#pragma once
#include <immintrin.h>

/// During its lifetime this thread flushes subnormal operands and results to zeros. Arithmetic has to be on
/// volatile values: a compiler moves all other beyond it.
class Flushing {
 public:
  Flushing() : mode_(_mm_getcsr()) { _mm_setcsr(mode_ | 0x8040); }
  Flushing(const Flushing&) = delete;
  Flushing& operator=(const Flushing&) = delete;
  ~Flushing() { _mm_setcsr(mode_); }

 private:
  unsigned mode_;
};
