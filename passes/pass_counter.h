#pragma once
#include <mlir/Pass/PassManager.h>

namespace kiln::passes {

/// Makes the passes of a manager count for pass_counts(), if count_passes() is on.
void add_pass_counter(mlir::PassManager& manager);

}  // namespace kiln::passes
