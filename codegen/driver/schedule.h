// Planned functions to plans.
#pragma once
#include "codegen/driver/compile.h"
#include "codegen/driver/lower.h"
#include "codegen/driver/stats.h"
#include "runtime/executable.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <array>
#include <map>
#include <memory>

namespace kiln::codegen {

/// The kernels of a plan.
struct LoadedKernels {
  std::map<std::array<std::uint64_t, 2>, std::shared_ptr<const Kernel>> by_key;
  GenericKernels generic = GenericKernels::never;  ///< which generic ones the plan and its bodies may use
  bool are_generic = false;                        ///< whether one is
  std::map<std::string, int> names = {};           ///< how many kernels have each name without a number
  KernelCounts counts;
};

/// The plan of a function after passes::run_pipeline; `loaded` gets its kernels and the kernels of its
/// bodies. `stages` as in get_kernels.
ExecutablePlan make_plan(mlir::func::FuncOp function, const Backend& backend, LoadedKernels& loaded,
                         Stages* stages);

}  // namespace kiln::codegen
