// The cut of a joint function into a forward and a backward function.
#pragma once
#include "passes/saved_values.h"
#include "passes/target_model.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::passes {

/// A joint function (ir/build.h) in two. Both have the saved values in one arena, each at a separate offset
/// (`kiln.saved`), the first at 0.
struct CutJoint {
  /// `@name`: the graph's inputs to its outputs, the saved values, then its writes (kiln.writes).
  mlir::OwningOpRef<mlir::ModuleOp> forward;
  /// `@name_backward`: inputs and outputs that it reads, the heads, the running sums, and the saved values,
  /// to the sums.
  mlir::OwningOpRef<mlir::ModuleOp> backward;
  std::vector<std::int64_t> inputs, outputs;  ///< of the graph, which the backward function reads
  std::size_t saved = 0;                      ///< how many values are saved
  std::size_t recomputed_bytes = 0;           ///< of values that both functions compute
  std::vector<bool>
      sums;            ///< by sum: whether it gets a term; only these are results of the backward function
  std::string report;  ///< saved and recomputed values with the reason, a line each
};

/// Cuts the joint function of `module`, after simplification, by `policy`. Saved values have the order of
/// axes that they have in memory on `target`, so that neither part transposes them.
CutJoint cut_joint(mlir::ModuleOp module, Recompute policy, const TargetModel& target);

}  // namespace kiln::passes
