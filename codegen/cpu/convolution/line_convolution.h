// Convolutions along the lines of images with the channels first.
#pragma once
#include "codegen/cpu/kernels.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/scalar_expr.h"

namespace kiln::codegen {

/// A convolution with the channels first and neighbouring points of a line as neighbours in memory. Its
/// result has the axes (n, channels, spatial...).
struct LineConvolution {
  ir::View lhs;                       ///< for its base and offset only
  unsigned rhs = 0;                   ///< the fusion's argument: weights, packed as one panel for each group
  Dims lhs_strides;                   ///< along the result's axes but the last, in elements
  std::vector<std::int64_t> offsets;  ///< of the input for each k
  std::int64_t input_lines = 0;       ///< that a line of results reads
  std::int64_t groups = 1, lhs_group = 0;  ///< how many, and the distance of their inputs, in elements
  std::int64_t channels = 0, panel = 0;    ///< of a group
};

/// The kernel of a fusion whose root is one.
Launch launch_line_convolution(ir::FusionOp fusion, mlir::Value root, const LineConvolution& convolution,
                               const CpuTarget& target);

}  // namespace kiln::codegen
