// All numbers of f16 or bf16.
#pragma once
#include <kiln/kiln.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

/// All numbers of f16 or bf16; one NaN.
inline kiln::Tensor every_half(kiln::DType dtype) {
  using Limits = std::numeric_limits<float>;
  const int digits = dtype == kiln::DType::f16 ? 11 : 8, least = dtype == kiln::DType::f16 ? -14 : -126,
            most = dtype == kiln::DType::f16 ? 15 : 127;
  std::vector<float> all{Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()};
  const int significands = 1 << (digits - 1);
  for (const float sign : {1.f, -1.f}) {
    for (int m = 0; m < significands; ++m) all.push_back(sign * std::ldexp(float(m), least - digits + 1));
    for (int e = least; e <= most; ++e)
      for (int m = significands; m < 2 * significands; ++m)
        all.push_back(sign * std::ldexp(float(m), e - digits + 1));
  }
  return kiln::Tensor(all, {static_cast<std::int64_t>(all.size())}).astype(dtype);
}
