// A check of the instructions of PTX.
#pragma once
#include <string>
#include <string_view>

namespace kiln::codegen {

/// Instructions that only some kernels may have.
struct PtxExtensions {
  bool tensor_cores = false;  ///< whose roundings NVIDIA does not specify
  bool flushing = false;      ///< sums and multiply-adds of f32 that flush subnormals
};

/// Checks that each instruction of the PTX is on the list of instructions that Kiln relies on. All of them
/// are exact or correctly rounded, and none is contracted: without `.rn` ptxas may join a product and a sum.
/// Throws an internal error that names `kernel` and the instruction.
void check_ptx(std::string_view ptx, const std::string& kernel, const PtxExtensions& extensions);

}  // namespace kiln::codegen
