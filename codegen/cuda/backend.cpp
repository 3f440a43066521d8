// The table of GPU kernels, and their lowering.
#include "codegen/cuda/backend.h"

#include "codegen/cuda/launch.h"
#include "codegen/emit/extension.h"
#include "codegen/emit/scalar_expr.h"
#include "runtime/fail.h"
#include "runtime/once.h"

namespace kiln::codegen {
namespace {

bool is_f32(ir::PackedDotOp dot) { return dtype_of_value(dot.getResult()) == DType::f32; }

/// Each part of the result is copied by itself: along each axis the part before x, x, and the part after it.
Launches launch_parts(ir::ExtendOp extend) {
  Launches launches;
  const DType dtype = ir::to_tensor_type(extend.getType()).dtype;
  for (const StridedBox& part : parts_of(extend))
    launches.push_back(launch_gpu_copy(part, dtype, extend->getLoc()));
  return launches;
}

}  // namespace

const KernelTable& cuda_kernels() {
  return once<[] {
    return KernelTable{
        root<ir::ReduceOp>(launch_gpu_reduce),
        root<ir::PackedDotOp>(is_f32, launch_gpu_dot),
        root<ir::PackedDotOp>(fallback),
        root<ir::DotOp>(launch_gpu_mma),
        root<ir::PackedConvolutionOp>(fallback),
        root<ir::WeightsProductOp>(fallback),
        root<ir::WinogradOp>(fallback),
        root<ir::PackOp>(ir::packs_weights, fallback),
        alone<ir::FusionOp>(launch_gpu_pointwise),
        alone<ir::ExtendOp>(launch_parts),
        alone<ir::PackOp>(fallback),
        alone<ir::PadOp>(fallback),
        alone<ir::ScatterOp>(fallback),
        alone<ir::SortOp>(fallback),
        alone<ir::CumulativeOp>(fallback),
    };
  }>();
}

CudaArch cuda_arch_of(const std::string& name) {
  // The oldest PTX that has the architecture: a driver takes PTX that is not newer than itself.
  for (const CudaArch& arch : {CudaArch{"sm_80", "+ptx70"}, {"sm_90", "+ptx78"}})
    if (name == arch.name) return arch;
  fail("the architecture '{}' is not known; use sm_80, which all newer GPUs run too, or sm_90", name);
}

Launches CudaBackend::launch(mlir::Operation* op) const {
  Launches launches = cuda_kernels().launch(op, thread_, &scalar_kernels_);
  // Generic kernels save compiling; on a GPU the driver compiles them again all the same.
  for (Launch& launch : launches) launch.generic = nullptr;
  return launches;
}

Launch CudaBackend::launch_copy(const StridedBox& box, DType dtype, mlir::Location location) const {
  return launch_gpu_copy(box, dtype, location);
}

}  // namespace kiln::codegen
