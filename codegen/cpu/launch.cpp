// Which family computes a fusion.
#include "codegen/cpu/launch.h"

namespace kiln::codegen {

Launch launch_fusion(ir::FusionOp fusion, const CpuTarget& target) {
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (llvm::isa<ir::ReduceOp>(op)) return launch_reduce(fusion, target);
    if (auto pack = llvm::dyn_cast<ir::PackOp>(op); pack && ir::packs_weights(pack)) {
      llvm::SmallVector<ir::PackOp> packs;
      for (mlir::Value v : fusion.getBody().front().getTerminator()->getOperands())
        packs.push_back(v.getDefiningOp<ir::PackOp>());
      return launch_weights_packs(packs, target);
    }
    if (auto dot = llvm::dyn_cast<ir::PackedDotOp>(op)) return launch_dot(fusion, dot, target);
    if (auto conv = llvm::dyn_cast<ir::PackedConvolutionOp>(op))
      return launch_convolution(fusion, conv, target);
    if (llvm::isa<ir::DepthwiseOp, ir::ReduceWindowOp>(op)) return launch_plane_windows(fusion, &op, target);
    if (auto weights = llvm::dyn_cast<ir::WeightsProductOp>(op))
      return launch_weights_product(fusion, weights, target);
    if (auto winograd = llvm::dyn_cast<ir::WinogradOp>(op)) return launch_winograd(fusion, winograd, target);
  }
  return launch_pointwise(fusion, target);
}

}  // namespace kiln::codegen
