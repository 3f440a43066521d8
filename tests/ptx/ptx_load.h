#pragma once
#include "runtime/executable.h"

#include <memory>

namespace kiln::ptx {

/// A kernel whose code is PTX as a function of this process, which runs the threads of the iterations that it
/// is called for, one by one. Kernels with one key are translated once. Throws std::runtime_error for PTX
/// that is not known. Any thread may call it.
std::shared_ptr<const Kernel> load(const PlannedKernel& kernel);

/// How many different kernels were translated.
std::size_t kernels_translated();

}  // namespace kiln::ptx
