// A check of the instructions of PTX.
#pragma once
#include <string>
#include <string_view>

namespace kiln::codegen {

/// Checks that each instruction of the PTX is on the list of instructions that Kiln relies on. All of them
/// are exact or correctly rounded, and none is contracted: without `.rn` ptxas may join a product and a sum.
/// Throws an internal error that names `kernel` and the instruction. Instructions of tensor cores, whose
/// roundings NVIDIA does not specify, are allowed only in kernels `on_tensor_cores`.
void check_ptx(std::string_view ptx, const std::string& kernel, bool on_tensor_cores);

}  // namespace kiln::codegen
