#pragma once
#include "codegen/cpu/loops/kernel_builder.h"
#include "runtime/executable.h"

#include <mlir/IR/BuiltinAttributes.h>

#include <optional>

namespace kiln::codegen {

/// A step whose kernel is still to be made.
struct PlannedStep {
  Step step;
  std::optional<KernelRequest> request = {};  ///< of the kernel, if it has one
  std::optional<std::size_t> snapshot = {};   ///< that it is part of, instead of the call
  mlir::DenseI64ArrayAttr strip = {};      ///< that its operation is part of (passes::strip_attr); null: none
  mlir::DenseI64ArrayAttr next_rows = {};  ///< that it asks for in a strip (passes::next_rows_attr); or null
};

/// The steps in their order, where neighbours of one strip are one step with one kernel: a few rows pass
/// through the code of all of them, then the next rows. They stay as they are if their loops cannot all be
/// cut into the same rows.
std::vector<PlannedStep> join_strips(std::vector<PlannedStep> steps);

}  // namespace kiln::codegen
