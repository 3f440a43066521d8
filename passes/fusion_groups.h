#pragma once
#include "passes/target_model.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/DenseSet.h>

#include <string>
#include <vector>

namespace kiln::passes {

/// Operations that become one operation of the schedule: a kernel, or one that stays as it is.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation*> ops;      ///< in program order
  llvm::SmallVector<mlir::Operation*> results;  ///< those whose value leaves the group
  std::vector<std::string> missed;              ///< what did not join, and why
};

/// Decides which operations share a kernel; the rules stand in fuse.h. A pack that is `prepackable`
/// (prepack.h) is not part of a contraction's kernel. Returns the groups in an order in
/// which they can run: each as late as its last operation stands in the program, unless another needs it
/// earlier.
std::vector<FusionGroup> form_groups(mlir::Block& block, const ViewAnalysis& view_analysis,
                                     const llvm::DenseSet<mlir::Operation*>& prepackable,
                                     const TargetModel& target, bool fuse);

}  // namespace kiln::passes
