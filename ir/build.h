#pragma once
#include "ir/graph.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace kiln::ir {

/// The graph in the kiln dialect: a module with one function `@name` whose arguments are the graph's inputs
/// and whose results are its outputs, then the new contents of the inputs listed in `kiln.writes` (aux
/// states, in-place writes). `context` has the dialects loaded. Throws kiln::Error naming the node where an
/// operator refuses its operands.
mlir::OwningOpRef<mlir::ModuleOp> build_module(mlir::MLIRContext& context, const Graph& graph);

}  // namespace kiln::ir
