#pragma once
#include "codegen/driver/compile.h"
#include "codegen/driver/stages.h"
#include "passes/pipeline.h"

#include <mlir/IR/BuiltinOps.h>

#include <chrono>
#include <functional>

namespace kiln::codegen {

/// Calls `f` with a context that has the dialects, after it has made sure that there is room for a graph of
/// `nodes` nodes. `name` is the graph's, for errors.
void with_context(const std::string& name, std::size_t nodes,
                  const std::function<void(mlir::MLIRContext&)>& f);

/// The module's text with locations; large constants elided.
std::string text_of(mlir::Operation* op);

/// The last two thirds of a compilation: passes, kernels, plan. `stages` may be null.
std::shared_ptr<const Executable> compile_module(mlir::ModuleOp module, const CompileOptions& options,
                                                 Stages* stages,
                                                 std::chrono::steady_clock::time_point started);

/// The passes before a joint function is cut.
void simplify_module(mlir::ModuleOp module, const CompileOptions& options, Stages* stages);

}  // namespace kiln::codegen
