// The pass kiln-lift-slices: the windows of a pooling move up to their contraction.
#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves the windows of a pooling up to the contraction that is pooled: slice(op(x, y)) becomes op(slice(x),
/// slice(y)). The slices are the points of adjacent windows (ir/windows.h), and only pointwise operations
/// separate them from a contraction whose kernel holds all points of a window at once. Each pointwise
/// operation is then duplicated per point; the duplicates together compute as many elements as before.
///
/// Why here: a kernel applies no view to a value that it computes, except to the result of its contraction,
/// where a slice names some of the registers. After layout; before fuse, for which alone it exists. Needs:
/// nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_lift_slices_pass(const TargetModel& target);

}  // namespace kiln::passes
