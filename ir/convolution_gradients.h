#pragma once
// Gradients that the primitives of convolutions have in common: each of these is linear in two arrays, and
// its gradients are others of them.
#include "ir/primitives.h"

namespace kiln::ir {

/// The gradient of x in convolution(x, w, spec), which has the shape `data`.
Value data_gradient(Primitives& p, const Shape& data, Value w, Value g, const ConvSpec& spec);
/// The gradient of w in convolution(x, w, spec). In several groups that are not depthwise it is a convolution
/// whose contracted index runs over the batch: it is summed in the order of that convolution.
Value weight_gradient(Primitives& p, Value x, Value w, Value g, const ConvSpec& spec);

/// A transposed convolution on a tape: the data gradient of a convolution, whose data its result is.
struct TransposedConvolutionPrimitive {
  ConvSpec spec;

  static constexpr bool on_tape_alone = true;
  std::vector<Value> gradient(Primitives& p, const Taped& t, Value g, const std::vector<bool>& wanted) const;
};

}  // namespace kiln::ir
