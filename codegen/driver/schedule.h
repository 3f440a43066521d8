#pragma once
#include "codegen/driver/lower.h"
#include "runtime/executable.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::codegen {

/// The steps of a planned function (after passes::run_pipeline), with their kernels. `stages` as in
/// get_kernels.
ExecutablePlan make_plan(mlir::func::FuncOp function, const Target& target, Stages* stages);

}  // namespace kiln::codegen
