// The steps of one compilation.
#pragma once
#include "codegen/backend/backend.h"
#include "codegen/driver/compile.h"
#include "codegen/driver/kept_context.h"
#include "codegen/driver/schedule.h"
#include "codegen/driver/stages.h"
#include "ir/algorithm.h"

#include <mlir/IR/BuiltinOps.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace kiln::codegen {

/// The state that the steps of one compilation share. `stages` is null if nobody wants texts.
struct Compilation {
  mlir::MLIRContext& context;
  const CompileOptions& options;
  const Backend& backend;
  Stages* stages;
  std::chrono::steady_clock::time_point started;
  /// Compiles the same without generic kernels; null: there are none in this one either.
  Executable::Refine again = {};
  /// The owner of `context`; null for constants that are evaluated within a compilation.
  KeptContext* kept = nullptr;

  ir::ContractionTarget contractions() const;
};

/// Compiles a graph named `name` of about `nodes` nodes by `steps`, in a kept context, after it has made sure
/// that there is room. Throws kiln::Error.
void run_compilation(const std::string& name, std::size_t nodes, const CompileOptions& options,
                     const std::function<void(const Compilation&)>& steps);

/// The last two thirds of a compilation: passes, kernels, plan. `loaded` receives the plan's kernels.
ExecutablePlan plan_module(mlir::ModuleOp module, const Compilation& compilation, LoadedKernels& loaded);
/// The same, with the kernels loaded.
std::shared_ptr<const Executable> compile_module(mlir::ModuleOp module, const Compilation& compilation);

/// The passes before a joint function is cut.
void simplify_module(mlir::ModuleOp module, const Compilation& compilation);

}  // namespace kiln::codegen
