#pragma once
#include "codegen/cpu/loops/kernel_builder.h"
#include "ir/dialect.h"

#include <memory>

namespace kiln::codegen {

/// A kernel with its parameters for given shapes; schedule.cpp adds the operands' buffers. Operands are
/// numbered: the fusion's arguments, then its results, then the random state if it is used.
struct Launch {
  KernelRequest request;
  std::vector<std::int64_t> params;
  std::int64_t extent = 1;
  std::int64_t grain = 1;
  bool uses_random = false;
  /// Bytes of scratch memory per thread (Step::scratch_bytes): the last operand.
  std::int64_t scratch_bytes = 0;
  /// A table of i64, one more operand after the random state; empty: none.
  std::vector<std::int64_t> table;
  /// The same results by a slower kernel with the same operands, which other sizes share; or null.
  std::shared_ptr<Launch> generic = {};
};

/// The kernel of a fusion; throws an internal error for a body that no pass should have made.
Launch launch_fusion(ir::FusionOp fusion, const CpuTarget& target);

// The families that launch_fusion chooses from.
Launch launch_pointwise(ir::FusionOp fusion, const CpuTarget& target);
Launch launch_reduce(ir::FusionOp fusion, const CpuTarget& target);
Launch launch_dot(ir::FusionOp fusion, ir::PackedDotOp root, const CpuTarget& target);
Launch launch_weights_product(ir::FusionOp fusion, ir::WeightsProductOp root, const CpuTarget& target);
Launch launch_convolution(ir::FusionOp fusion, ir::PackedConvolutionOp root, const CpuTarget& target);
/// Of a depthwise convolution or a reduce_window.
Launch launch_plane_windows(ir::FusionOp fusion, mlir::Operation* root, const CpuTarget& target);
Launch launch_winograd(ir::FusionOp fusion, ir::WinogradOp root, const CpuTarget& target);

/// A pack: operand 0 to operand 1.
Launch launch_pack(ir::PackOp pack, const CpuTarget& target);
/// Packs of views of the same weights: operand 0 to operands 1, 2, ...
Launch launch_weights_packs(llvm::ArrayRef<ir::PackOp> packs, const CpuTarget& target);
/// A sort: operand 0 to operand 1, with operand 2 as scratch memory.
Launch launch_sort(ir::SortOp sort, const CpuTarget& target);
/// Of the first elements alone.
Launch launch_partial_sort(ir::SortOp sort, const CpuTarget& target);
/// The updates (operand 0) at indices (operand 1) into a copy of x (operand 2).
Launch launch_scatter(ir::ScatterOp scatter, const CpuTarget& target);
/// Operand 0 to operand 1.
Launch launch_cumulative(ir::CumulativeOp cumulative, const CpuTarget& target);

/// The border that a pad puts around its operand, into operand 0.
Launch launch_border(ir::PadOp pad, const CpuTarget& target);

/// Operand 0 continued beyond its ends, to operand 1.
Launch launch_extend(ir::ExtendOp extend, const CpuTarget& target);

/// A copy from one strided view to another: operand 0 to operand 1. Strides and offsets are in elements.
struct StridedBox {
  llvm::SmallVector<std::int64_t, 6> shape;
  llvm::SmallVector<std::int64_t, 6> from_strides, to_strides;
  std::int64_t from_offset = 0, to_offset = 0;
};
/// The result of an extension as copies of boxes of its operand.
std::vector<StridedBox> parts_of(ir::ExtendOp extend);
Launch launch_copy(const StridedBox& box, DType dtype, const CpuTarget& target, mlir::Location loc);

/// Names of the operators in a location, joined: "fc1_relu". For symbols of kernels.
std::string name_of_location(mlir::Location loc);

/// The grain of a loop: equally large tasks of at least that cost. An iteration costs `cost` of the cheapest
/// element operations; tasks begin at multiples of `multiple`.
std::int64_t grain_for(std::int64_t extent, std::int64_t cost, std::int64_t multiple = 1);

}  // namespace kiln::codegen
