// The kernels of CPUs: the function that launches each, and the table that says whose each is.
#pragma once
#include "codegen/backend/kernel_table.h"
#include "codegen/emit/launch.h"
#include "ir/dialect.h"

namespace kiln::codegen {

// Fusions.
Launch launch_pointwise(ir::FusionOp fusion, const CpuTarget& target);
Launch launch_reduce(ir::FusionOp fusion, const CpuTarget& target);
Launch launch_dot(ir::FusionOp fusion, ir::PackedDotOp root, const CpuTarget& target);
Launch launch_weights_product(ir::FusionOp fusion, ir::WeightsProductOp root, const CpuTarget& target);
Launch launch_convolution(ir::FusionOp fusion, ir::PackedConvolutionOp root, const CpuTarget& target);
/// A depthwise convolution or a reduce_window.
Launch launch_plane_windows(ir::FusionOp fusion, mlir::Operation* root, const CpuTarget& target);
Launch launch_winograd(ir::FusionOp fusion, ir::WinogradOp root, const CpuTarget& target);
/// Packs of views of the same weights, which are the whole body: operand 0 to operands 1, 2, ...
Launch launch_weights_packs(ir::FusionOp fusion, ir::PackOp root, const CpuTarget& target);

/// A pack: operand 0 to operand 1.
Launch launch_pack(ir::PackOp pack, const CpuTarget& target);
/// A pack of weights: operand 0 to operand 1.
Launch launch_weights_pack(ir::PackOp pack, const CpuTarget& target);
/// A sort: operand 0 to operand 1, with operand 2 as scratch memory.
Launch launch_sort(ir::SortOp sort, const CpuTarget& target);
/// A sort of the first elements alone.
Launch launch_partial_sort(ir::SortOp sort, const CpuTarget& target);
/// The updates (operand 0) at indices (operand 1) into a copy of x (operand 2).
Launch launch_scatter(ir::ScatterOp scatter, const CpuTarget& target);
/// Operand 0 to operand 1.
Launch launch_cumulative(ir::CumulativeOp cumulative, const CpuTarget& target);

/// The border that a pad puts around its operand, into operand 0.
Launch launch_border(ir::PadOp pad, const CpuTarget& target);

/// Operand 0 continued beyond its ends, to operand 1.
Launch launch_extend(ir::ExtendOp extend, const CpuTarget& target);

/// From one strided view to another: operand 0 to operand 1.
Launch launch_copy(const StridedBox& box, DType dtype, const CpuTarget& target, mlir::Location loc);

inline KernelTable make_cpu_kernels() {
  return {
      root<ir::ReduceOp>(launch_reduce),
      root<ir::PackOp>(ir::packs_weights, launch_weights_packs),
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
}

}  // namespace kiln::codegen
