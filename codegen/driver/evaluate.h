// Evaluation of modules, for constant folding.
#pragma once
#include "codegen/driver/compile.h"

#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinOps.h>

namespace kiln::codegen {

/// The results of a module without arguments, by generated code, for constant folding. Throws kiln::Error.
llvm::SmallVector<mlir::ElementsAttr> evaluate(mlir::ModuleOp module, const CompileOptions& options);

}  // namespace kiln::codegen
