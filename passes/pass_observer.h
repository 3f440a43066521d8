#pragma once
#include <mlir/Pass/PassManager.h>

#include <functional>

namespace kiln::passes {

/// Called after a pass with the operation that it ran on, and whether it changed that.
using AfterPass = std::function<void(llvm::StringRef pass, mlir::Operation* op, bool changed)>;

/// Compares what each pass of the manager runs on before and after it, by MLIR's fingerprint, where anybody
/// asks: `after_pass`, if not empty, or pass_counts() while count_passes() is on.
void observe_passes(mlir::PassManager& manager, AfterPass after_pass = {});

}  // namespace kiln::passes
