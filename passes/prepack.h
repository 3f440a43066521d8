#pragma once
#include "passes/target_model.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/DenseSet.h>

namespace kiln::passes {

/// The operations of a function's block that derive from parameters alone and are worth keeping between
/// calls: candidates for `kiln.prepacked` (ir/prepacked.h). fuse marks the kernels that hold nothing else.
///
/// Not among them: results of the function, and values larger by more than 1 MiB than the arrays that they
/// are computed from, except packs. View operations that need no buffer take no memory. Bodies of loops and
/// branches have none, since their arguments are no parameters.
llvm::DenseSet<mlir::Operation*> find_prepackable(mlir::Block& block, const ViewAnalysis& view_analysis,
                                                  const TargetModel& target);

}  // namespace kiln::passes
