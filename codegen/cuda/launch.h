// The kernels of GPU schedules.
#pragma once
#include "codegen/emit/launch.h"
#include "ir/dialect.h"

#include <optional>

namespace kiln::codegen {

/// A copy from one strided view to another: operand 0 to operand 1.
Launch launch_gpu_copy(const StridedBox& box, DType dtype, mlir::Location loc);

// The schedules, of fusions in row fusions too.
Launch launch_gpu_pointwise(ir::FusionOp fusion);
/// Contractions of f32.
Launch launch_gpu_dot(ir::FusionOp fusion, ir::PackedDotOp root);
/// Contractions with few results; nothing for others.
std::optional<Launch> launch_gpu_chains(ir::FusionOp fusion, ir::PackedDotOp root);
/// A dot by tensor_cores.
Launch launch_gpu_mma(ir::FusionOp fusion, ir::DotOp root);
/// `code` describes a thread.
Launch launch_gpu_reduce(ir::FusionOp fusion, const CpuTarget& code);

}  // namespace kiln::codegen
