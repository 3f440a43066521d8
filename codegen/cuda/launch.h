#pragma once
#include "codegen/cpu/launch.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a fusion on a GPU: with a schedule of GPUs where there is one, else the scalar kernel of the
/// CPU, with a thread for each iteration of its outermost loop. `code` is that of a thread.
Launch launch_gpu_fusion(ir::FusionOp fusion, const CpuTarget& code);

/// A copy from one strided view to another: operand 0 to operand 1.
Launch launch_gpu_copy(const StridedBox& box, DType dtype, mlir::Location loc);

// The schedules, of fusions in row fusions too.
Launch launch_gpu_pointwise(ir::FusionOp fusion);
Launch launch_gpu_dot(ir::FusionOp fusion, ir::PackedDotOp root, const CpuTarget& code);
/// Of few results; nothing for other products.
std::optional<Launch> launch_gpu_chains(ir::FusionOp fusion, ir::PackedDotOp root);
/// Of a dot by tensor_cores.
Launch launch_gpu_mma(ir::FusionOp fusion, ir::DotOp root);
Launch launch_gpu_reduce(ir::FusionOp fusion, const CpuTarget& code);

}  // namespace kiln::codegen
