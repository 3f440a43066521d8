// The pass kiln-merge-products: contractions of rows of one array with the same B.
#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Merges small contractions with the same B (RHS) whose A (LHS) are row ranges of one array into one
/// contraction. The typical case is a recurrent cell unrolled by the program: the inputs of its steps are
/// rows of one array. The merged contraction reads the weights once, and its rows fill a tile.
///
/// The order of summation depends on k alone, so every element keeps its bits. Why here: after expand, which
/// rewrites the contractions with another order of summation; before layout, which packs B. Needs: expand.
/// Guarantees: unchanged bits.
std::unique_ptr<mlir::Pass> create_merge_products_pass(const TargetModel& target);

}  // namespace kiln::passes
