// The decision which operations share a kernel.
#pragma once
#include "passes/fusion_graph.h"

#include <llvm/ADT/DenseSet.h>

#include <vector>

namespace kiln::passes {

/// Decides which operations share a kernel by the rules in fuse.h. A pack that is `prepackable` (prepack.h)
/// does not join a contraction's kernel. Returns the groups in a topological order; independent groups are in
/// program order of their last operations.
std::vector<FusionGroup> form_groups(mlir::Block& block, const ViewAnalysis& view_analysis,
                                     const llvm::DenseSet<mlir::Operation*>& prepackable,
                                     const TargetModel& target, bool fuse);

}  // namespace kiln::passes
