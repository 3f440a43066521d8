// The table of the CPU's kernels.
#include "codegen/cpu/backend.h"

#include "codegen/cpu/launch.h"
#include "runtime/once.h"

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

/// Packs that read the same weights are the whole body of a fusion.
Launch launch_packs(ir::FusionOp fusion, ir::PackOp, const CpuTarget& target) {
  llvm::SmallVector<ir::PackOp> packs;
  for (mlir::Value v : fusion.getBody().front().getTerminator()->getOperands())
    packs.push_back(v.getDefiningOp<ir::PackOp>());
  return launch_weights_packs(packs, target);
}

}  // namespace

const KernelTable& cpu_kernels() {
  return once<[] {
    return KernelTable{
        root<ir::ReduceOp>(launch_reduce),
        root<ir::PackOp>(ir::packs_weights, launch_packs),
        root<ir::PackedDotOp>(launch_dot),
        root<ir::PackedConvolutionOp>(launch_convolution),
        root<ir::DepthwiseOp>(launch_plane_windows),
        root<ir::ReduceWindowOp>(launch_plane_windows),
        root<ir::WeightsProductOp>(launch_weights_product),
        root<ir::WinogradOp>(launch_winograd),
        alone<ir::FusionOp>(launch_pointwise),
        alone<ir::PackOp>(launch_pack),
        alone<ir::PadOp>(launch_border),
        alone<ir::ExtendOp>(launch_extend),
        alone<ir::ScatterOp>(launch_scatter),
        alone<ir::SortOp>(launch_sort),
        alone<ir::CumulativeOp>(launch_cumulative),
    };
  }>();
}

std::string CpuBackend::id() const {
  return fmt::format("{}/{}/{}", target_.cpu, target_.features, target_.vector_bytes);
}

Launch CpuBackend::launch_copy(const StridedBox& box, DType dtype, mlir::Location location) const {
  return codegen::launch_copy(box, dtype, target_, location);
}

}  // namespace kiln::codegen
