// The conditions on a program in the text of the dialect.
#pragma once
#include <mlir/IR/BuiltinOps.h>

namespace kiln::codegen {

/// Whether a verified module is a program that can be compiled: one function, a graph on arrays of Kiln's
/// dtypes. Products by tensor cores are of programs on a GPU. Reports the first violation at its operation.
mlir::LogicalResult check_program(mlir::ModuleOp module, bool on_gpu);

}  // namespace kiln::codegen
