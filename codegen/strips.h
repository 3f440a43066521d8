#pragma once
#include "runtime/executable.h"

#include <mlir/IR/BuiltinAttributes.h>

namespace kiln::codegen {

/// A step, and the strip (passes::strip_attr) that its operation is part of; null: none.
struct StripStep {
  Step step;
  mlir::DenseI64ArrayAttr strip;
};

/// The steps in their order, where neighbours of one strip are one step. They stay as they are if their loops
/// cannot all be cut into the same rows.
std::vector<Step> join_strips(std::vector<StripStep> steps);

}  // namespace kiln::codegen
