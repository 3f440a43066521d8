// The pipeline from the dialect to planned kernels.
#pragma once
#include "ir/dialect.h"
#include "passes/pass_observer.h"
#include "passes/target_model.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/Pass/PassManager.h>

#include <functional>
#include <string>

namespace kiln::passes {

/// Computes a module without arguments by generated code: the results' elements, in order. Given by codegen,
/// so that constant folding and the running program agree in every bit.
using Evaluate = std::function<llvm::SmallVector<mlir::ElementsAttr>(mlir::ModuleOp)>;

struct PipelineOptions {
  Evaluate evaluate;          ///< empty: constants are not folded
  const TargetModel* target;  ///< not null; chooses layouts and thresholds, never bits
  bool fuse = true;
  /// Called after each named stage ("kiln", "fused", "buffers") with the module.
  std::function<void(llvm::StringRef, mlir::ModuleOp)> observe;
  /// Called after each pass with the function, or module, that it ran on.
  AfterPass after_pass;
};

/// Runs all passes in the order that pipeline.cpp lists with their reasons. The table of ir/stages.h says
/// which operations may stand between them and after the last one; it is verified where a stage ends.
/// Afterwards each operation carries its plan (plan_buffers.h); fuse.h says how a fusion combines operations.
/// Throws kiln::Error.
void run_pipeline(mlir::ModuleOp module, const PipelineOptions& options);

/// Runs its first part alone, the simplifications: for a joint function, before it is cut (joint.h). Throws
/// kiln::Error.
void run_simplification(mlir::ModuleOp module, const PipelineOptions& options);

/// Makes all passes known to MLIR's registry, for `kiln opt`; they fold constants with `evaluate` and compile
/// for the target that `target` returns when they are made, which outlives them.
void register_passes(const Evaluate& evaluate, const std::function<const TargetModel&()>& target);

}  // namespace kiln::passes
