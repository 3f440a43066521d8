// Which kernels have a schedule of GPUs.
#include "codegen/cuda/launch.h"

namespace kiln::codegen {

Launch launch_gpu_fusion(ir::FusionOp fusion, const CpuTarget& code) {
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (llvm::isa<ir::ReduceOp>(op)) return launch_gpu_reduce(fusion, code);
    if (auto dot = llvm::dyn_cast<ir::PackedDotOp>(op)) return launch_gpu_dot(fusion, dot, code);
    if (auto dot = llvm::dyn_cast<ir::DotOp>(op)) return launch_gpu_mma(fusion, dot);
    auto pack = llvm::dyn_cast<ir::PackOp>(op);
    if (llvm::isa<ir::PackedConvolutionOp, ir::WeightsProductOp, ir::WinogradOp>(op) ||
        (pack && ir::packs_weights(pack)))
      return launch_fusion(fusion, code);
  }
  return launch_gpu_pointwise(fusion);
}

}  // namespace kiln::codegen
