#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Makes one product of several small ones that have the same right operand and whose left operands are rows
/// of one array: the inputs of a recurrent cell's steps, when a program unrolls them. The weights then pass
/// through the processor once, and no step waits for its share.
///
/// Every element keeps its sum: the order of summation depends on k alone. Why here: after expand, which has
/// taken away the small products that are summed in another order; before layout, which packs right operands.
/// Needs: expand. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_merge_products_pass();

}  // namespace kiln::passes
