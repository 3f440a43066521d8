// Parts of a joint function, and the values that its forward half saves for the backward half.
#pragma once
#include "ir/dialect.h"

#include <kiln/recompute.h>

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>

namespace kiln::passes {

/// A joint function (ir/build.h) by its parts.
struct JointFunction {
  explicit JointFunction(mlir::func::FuncOp f);

  mlir::func::FuncOp function;
  mlir::Block& block;
  unsigned inputs;  ///< the graph's, the first arguments; heads and running sums follow
  /// Its results: the graph's outputs, the sums, the new contents of inputs.
  mlir::ValueRange outputs, sums, writes;
};

/// The operands of an operation, and the outer values that its bodies use.
llvm::SetVector<mlir::Value> used_values(mlir::Operation* op);
/// Whether an operation, or one in its bodies, draws random numbers.
bool draws_random(mlir::Operation* op);

/// Which values of a joint function its backward part gets from the forward part, and which it
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
SavedValues choose_saved_values(const JointFunction& joint, Recompute policy);

}  // namespace kiln::passes
