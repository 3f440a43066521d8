// paired32 as ir/KilnOps.td defines it, in plain C++.
#pragma once
#include "flushing.h"

#include <kiln/kiln.h>

#include <cmath>

/// paired32 as ir/KilnOps.td defines it, in plain C++.
namespace paired_definition {

using namespace kiln;

/// A sum by paired32: steps of 32, in which the even and the odd elements are chains of fused multiply-adds.
class Steps {
 public:
  void take(float a, float b) {
    const volatile float x = a, y = b;
    volatile float& chain = chains_[taken_ % 2];
    chain = std::fma(x, y, chain);
    if (++taken_ == 32) close();
  }
  float sum() {
    while (taken_ > 0) take(0, 0);
    return total_;
  }

 private:
  void close() {
    const volatile float step = chains_[0] + chains_[1];
    total_ = total_ + step;
    chains_[0] = 0;
    chains_[1] = 0;
    taken_ = 0;
  }
  volatile float total_ = 0, chains_[2] = {0, 0};
  int taken_ = 0;
};

/// (m, k) by (k, n).
inline Tensor dot(const Tensor& x, const Tensor& y) {
  const Flushing flushing;
  const std::int64_t m = x.shape()[0], k = x.shape()[1], n = y.shape()[1];
  const auto left = x.to_vector<float>(), right = y.to_vector<float>();
  std::vector<float> result;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      Steps steps;
      for (std::int64_t r = 0; r < k; ++r)
        steps.take(left[static_cast<std::size_t>(i * k + r)], right[static_cast<std::size_t>(r * n + j)]);
      result.push_back(steps.sum());
    }
  return Tensor(result, {m, n});
}

}  // namespace paired_definition
