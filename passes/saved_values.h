#pragma once
#include "ir/dialect.h"

#include <kiln/recompute.h>

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>

namespace kiln::passes {

/// Which values of a joint function (ir/build.h) its backward part gets from the forward part, and which it
/// computes again.
struct SavedValues {
  /// Operations that depend on a head or a running sum. All others have equal results before and after.
  llvm::DenseSet<mlir::Operation*> backward;
  /// Operations whose results the outputs, the writes or a saved value need.
  llvm::DenseSet<mlir::Operation*> forward;
  /// Inputs and outputs of the graph that the backward part reads. They cost nothing: the caller keeps them.
  llvm::SetVector<mlir::Value> kept;
  /// The other values that cross the cut, each with the reason why it is not computed again.
  llvm::MapVector<mlir::Value, std::string> saved;
  /// Operations of the forward part that the backward part repeats, or that run in it alone although no head
  /// reaches them.
  llvm::SetVector<mlir::Operation*> recomputed;
};

/// Chooses them by a minimum cut: the fewest saved bytes, given which operations `policy` allows to repeat.
/// Products, reductions, windows, scans, sorts and random numbers are not repeated, but by Recompute::blocks
/// within a block.
SavedValues choose_saved_values(mlir::func::FuncOp joint, Recompute policy);

}  // namespace kiln::passes
