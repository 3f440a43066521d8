// The operator `_vjp`: the gradient of a subgraph as a node.
#pragma once
#include "ir/attrs.h"
#include "ir/differentiate.h"

#include <array>

namespace kiln::ops {

/// The attributes of the operator `_vjp`. Its inputs are the inputs of the subgraph that `uses` names, the
/// outputs, the heads and the running sums of `request`, in this order. It returns the sums.
std::array<ir::Attrs::Item, 5> gradient_attrs(const ir::GradientRequest& request,
                                              const ir::GradientUses& uses);

}  // namespace kiln::ops
