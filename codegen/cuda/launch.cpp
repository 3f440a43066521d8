// Which kernels have a schedule of GPUs.
#include "codegen/cuda/launch.h"

#include "passes/fuse_rows.h"

namespace kiln::codegen {
namespace {

bool is_pointwise(ir::FusionOp fusion) {
  return llvm::none_of(fusion.getBody().front(), [](mlir::Operation& op) {
    return llvm::isa<ir::ReduceOp, ir::PackedDotOp, ir::PackedConvolutionOp, ir::WinogradOp>(op);
  });
}

}  // namespace

Launch launch_gpu_fusion(ir::FusionOp fusion, const Target& target) {
  // The kernels of a row fusion have one outermost loop in common.
  if (is_pointwise(fusion) && !fusion->hasAttr(passes::row_fusion_attr)) return launch_points(fusion);
  return launch_fusion(fusion, target);
}

}  // namespace kiln::codegen
