// The decision which operations share a kernel.
#pragma once
#include "passes/target_model.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/DenseSet.h>

#include <string>
#include <vector>

namespace kiln::passes {

/// Operations that become one operation of the schedule: a kernel, or a single operation that no kernel
/// contains.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation*> ops;      ///< in program order
  llvm::SmallVector<mlir::Operation*> results;  ///< members with users outside the group
  std::vector<std::string> missed;              ///< missed-fusion remarks: an operation and the reason
};

/// Decides which operations share a kernel by the rules in fuse.h. A pack that is `prepackable` (prepack.h)
/// does not join a contraction's kernel. Returns the groups in a topological order; independent groups are in
/// program order of their last operations.
std::vector<FusionGroup> form_groups(mlir::Block& block, const ViewAnalysis& view_analysis,
                                     const llvm::DenseSet<mlir::Operation*>& prepackable,
                                     const TargetModel& target, bool fuse);

}  // namespace kiln::passes
