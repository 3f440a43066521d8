#include "codegen/cpu/kernels/launch.h"

#include "codegen/cpu/tuning.h"

#include <llvm/Support/MathExtras.h>

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

std::int64_t grain_for(std::int64_t extent, std::int64_t cost, std::int64_t multiple) {
  const std::int64_t least = llvm::divideCeilSigned(tuning::least_task_cost, std::max<std::int64_t>(cost, 1)),
                     pieces = std::max<std::int64_t>(extent / least, 1);
  return llvm::alignTo(std::max<std::int64_t>(llvm::divideCeilSigned(extent, pieces), 1), multiple);
}

std::string name_of_location(mlir::Location loc) {
  std::string name;
  auto append = [&](llvm::StringRef part) {
    if (part.empty() || name.size() + part.size() > 80) return;
    if (!name.empty()) name += "+";
    name += part;
  };
  llvm::SmallVector<llvm::StringRef> seen;
  loc->walk([&](mlir::Location inner) {
    if (auto named = llvm::dyn_cast<mlir::NameLoc>(inner);
        named && !llvm::is_contained(seen, named.getName().getValue())) {
      seen.push_back(named.getName().getValue());
      append(named.getName());
    }
    return mlir::WalkResult::advance();
  });
  return name.empty() ? "kernel" : name;
}

}  // namespace kiln::codegen
