#pragma once
#include "codegen/lower.h"
#include "runtime/executable.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::codegen {

/// The steps of a planned function (after passes::run_pipeline), with their kernels. `texts` as in
/// get_kernels; one entry a kernel.
ExecutablePlan make_plan(mlir::func::FuncOp function, const Target& target, std::vector<KernelTexts>* texts);

}  // namespace kiln::codegen
