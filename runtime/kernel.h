// Loaded machine code of the CPU.
#pragma once
#include "runtime/plan.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

/// Machine code of the CPU that is loaded.
namespace kiln {

/// A loaded kernel, shared by all executables that use it; the last reference unmaps the code. The kernel
/// cache holds a reference as well, until it drops the kernel to stay within its bound
/// (codegen/driver/kernel_cache.h).
struct Kernel {
  KernelFn entry = nullptr;
  std::string name;                       ///< for people: the operators in it
  std::array<std::uint64_t, 2> key = {};  ///< as in PlannedKernel
  std::string symbol;
  Blob object;                 ///< the object file of the code
  GpuLaunch gpu;               ///< as in PlannedKernel
  std::shared_ptr<void> code;  ///< keeps the machine code mapped
};

/// Finds or loads a kernel of a plan, for the CPU. Throws kiln::Error on failure.
using LoadKernel = std::function<std::shared_ptr<const Kernel>(const PlannedKernel&)>;

}  // namespace kiln
