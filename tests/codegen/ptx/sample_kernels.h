// Right kernels with barriers, shuffles and shared memory, and their results.
#pragma once
#include "device_run.h"

/// Right kernels with barriers, shuffles and shared memory, and what they give.
namespace kiln::ptx {

struct RightSample {
  const char* name;
  Sample sample;
  std::vector<std::uint32_t> expected;
};

/// Bits of a float.
std::uint32_t bits(float);

std::vector<RightSample> right_samples();

}  // namespace kiln::ptx
