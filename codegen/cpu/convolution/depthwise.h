// Depthwise convolutions with the channels last.
#pragma once
#include "codegen/cpu/kernels.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/scalar_expr.h"

namespace kiln::codegen {

/// A depthwise convolution. Channels are the last axis of the result and of the input, with a unit stride in
/// both; all other axes are rows.
struct Depthwise {
  ir::View lhs;                       ///< for its base and offset only
  unsigned rhs = 0;                   ///< the fusion's argument: kernels, packed in panels of channels
  Dims lhs_strides;                   ///< of the input along the result's axes but the channels, in elements
  std::vector<std::int64_t> offsets;  ///< of the input of each tap
  std::int64_t row_taps = 1;          ///< neighbours among the taps, `tap_stride` apart
  std::int64_t tap_stride = 0;
  std::int64_t channels = 0, panel = 0;
};

/// The kernel of a fusion whose root is one.
Launch launch_depthwise(ir::FusionOp fusion, mlir::Value root, const Depthwise& depthwise,
                        const CpuTarget& target);

}  // namespace kiln::codegen
