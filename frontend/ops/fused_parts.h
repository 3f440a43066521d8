// The parts of a subgraph that MXNet fused.
#pragma once
#include "frontend/ops/common.h"
#include "ir/graph.h"

/// The subgraphs of `_sg_mkldnn_conv` and `_sg_mkldnn_fully_connected`: a chain of a few operators.
namespace kiln::ops {

/// The nodes of the chain, in order. Each one reads the result of the one before it; a part that the subgraph
/// lacks is null.
struct FusedParts {
  const ir::Node* linear = nullptr;      ///< Convolution or FullyConnected
  const ir::Node* norm = nullptr;        ///< BatchNorm
  const ir::Node* activation = nullptr;  ///< before the sum
  const ir::Node* sum = nullptr;         ///< elemwise_add with a last input
  const ir::Node* after_sum = nullptr;   ///< an activation of the sum

  bool has_bias() const { return !linear->attrs.boolean("no_bias"); }
};

/// The parts of a body. Throws unless it is such a chain, its variables are in the order of the chain, and
/// the attributes with_... agree with it.
FusedParts fused_convolution(const Attrs& a, const ir::Subgraph& body);
FusedParts fused_dense(const Attrs& a, const ir::Subgraph& body);

/// Whether a quantised dense layer has a float32 weight, which is quantised by channel in the call.
/// MXNet 1.9.1 takes any value of channel_wise_quantize but None as True.
bool weight_is_float(const Attrs& a);

/// The quantised forms: the result, then the ends of its range unless it is float32.
Values quantized_convolution(Primitives& p, Args in, const Attrs& a, const ir::Subgraph& body);
Values quantized_dense(Primitives& p, Args in, const Attrs& a, const ir::Subgraph& body);

}  // namespace kiln::ops
