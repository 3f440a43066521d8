// Gradients of the weights of depthwise convolutions.
#pragma once
#include "codegen/cpu/kernels.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/scalar_expr.h"

namespace kiln::codegen {

/// The gradient of the weights of a depthwise convolution. Channels are the last axis of the result, of x and
/// of g, with a unit stride; the other axes of the result are the taps.
struct DepthwiseWeights {
  ir::View lhs;                    ///< x, for its base and offset only
  unsigned rhs = 0;                ///< the fusion's argument g: (places..., channels), contiguous
  Dims places;                     ///< extents: the images, then the spatial axes
  Dims place_strides;              ///< of x, in elements
  std::vector<std::int64_t> taps;  ///< offsets in x
  std::int64_t channels = 0;
};

/// The kernel of a fusion whose root is one.
Launch launch_depthwise_weights(ir::FusionOp fusion, mlir::Value root, const DepthwiseWeights& weights,
                                const CpuTarget& target);

}  // namespace kiln::codegen
