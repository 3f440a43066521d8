#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Merges several small contractions that have the same B and whose A are rows of one array: the inputs of a
/// recurrent cell's steps, when a program unrolls them. The weights are then read once, and the merged rows
/// fill a tile.
///
/// The order of summation depends on k alone, so every element keeps its bits. Why here: after expand, which
/// has rewritten the contractions that are summed in another order; before layout, which packs B. Needs:
/// expand. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_merge_products_pass(const TargetModel& target);

}  // namespace kiln::passes
