// Candidates for prepacked constants.
#pragma once
#include "passes/target_model.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/DenseSet.h>

namespace kiln::passes {

/// The operations of a function's block that derive from parameters alone and are worth keeping between
/// calls: candidates for `kiln.prepacked` (ir/prepacked.h). fuse marks the kernels that hold nothing else.
///
/// Excluded are results of the function, and values (except packs, and weights that are widened for them)
/// that exceed the arrays they are computed from by more than 1 MiB. View operations that need no buffer take
/// no memory. Bodies of loops and branches have none, since their arguments are no parameters.
llvm::DenseSet<mlir::Operation*> find_prepackable(mlir::Block& block, const ViewAnalysis& view_analysis,
                                                  const TargetModel& target);

}  // namespace kiln::passes
