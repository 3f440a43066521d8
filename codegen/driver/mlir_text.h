// Kernels as MLIR text.
#pragma once
#include <mlir/IR/BuiltinOps.h>

#include <string>

namespace kiln::codegen {

/// A kernel's module as text for people: each constant once, at the beginning of the function, and arguments,
/// parameters and operands by name. The module itself stays as it is.
std::string mlir_text(mlir::ModuleOp module);

}  // namespace kiln::codegen
