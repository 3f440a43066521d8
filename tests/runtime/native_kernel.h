// Plans whose kernels are functions of the test program.
#pragma once
#include "runtime/executable.h"

#include <initializer_list>
#include <utility>

namespace kiln {

/// A plan whose kernels, by their numbers, are functions of the test program.
inline Executable load_with(ExecutablePlan plan, std::initializer_list<KernelFn> functions) {
  for (std::uint64_t i = 0; i < functions.size(); ++i) plan.kernels.push_back({"test", {i, 0}, "", nullptr});
  return Executable(std::move(plan), [&](const PlannedKernel& k) {
    auto kernel = std::make_shared<Kernel>();
    kernel->entry = functions.begin()[k.key[0]];
    return kernel;
  });
}

}  // namespace kiln
