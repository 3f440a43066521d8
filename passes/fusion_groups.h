#pragma once
#include "passes/movement.h"

#include <string>
#include <vector>

namespace kiln::passes {

/// Operations that become one operation of the schedule: a kernel, or one that stays as it is.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation*> ops;      ///< in program order
  llvm::SmallVector<mlir::Operation*> results;  ///< those whose value leaves the group
  std::vector<std::string> refused;             ///< what did not join, and why
};

/// Decides which operations share a kernel; the rules stand in fuse.h. Returns the groups in an order in
/// which they can run: each as late as its last operation stands in the program, unless another needs it
/// earlier.
std::vector<FusionGroup> form_groups(mlir::Block& block, const Movement& movement, bool fuse);

}  // namespace kiln::passes
