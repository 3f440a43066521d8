// The operator `_vjp`: the gradient of a subgraph as a node.
#pragma once
#include "ir/attrs.h"
#include "ir/differentiate.h"

#include <array>

namespace kiln::ops {

/// The attributes of the operator `_vjp`: its inputs are those inputs of the subgraph that `uses` tells, then
/// the outputs, then the heads and the running sums of `request`. It returns the sums.
std::array<ir::Attrs::Item, 5> gradient_attrs(const ir::GradientRequest& request,
                                              const ir::GradientUses& uses);

}  // namespace kiln::ops
