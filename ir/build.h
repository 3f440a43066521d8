#pragma once
#include "ir/graph.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace kiln::ir {

/// Builds the graph in the kiln dialect: a module with one function `@name`. Its arguments are the graph's
/// inputs; its results are the outputs, then the new contents of the inputs listed in `kiln.writes` (aux
/// states, in-place writes). `context` must have the dialects loaded. Throws kiln::Error naming the node if
/// an operator rejects its operands.
mlir::OwningOpRef<mlir::ModuleOp> build_module(mlir::MLIRContext& context, const Graph& graph);

}  // namespace kiln::ir
