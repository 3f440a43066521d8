// The observer of passes: which passes change their operation.
#pragma once
#include <mlir/Pass/PassManager.h>

#include <functional>

namespace kiln::passes {

/// Called after each pass with the operation that the pass ran on; `changed`: whether the pass changed it.
using AfterPass = std::function<void(llvm::StringRef pass, mlir::Operation* op, bool changed)>;

/// Finds out by MLIR's fingerprint whether each pass of the manager changes its operation. Reports to
/// `after_pass` if not empty, and to pass_counts() while count_passes() is on; costs nothing otherwise.
void observe_passes(mlir::PassManager& manager, AfterPass after_pass = {});

}  // namespace kiln::passes
