// Verifies that prepacked constants derive from parameters.
#include "ir/prepacked.h"

#include "ir/views.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>

namespace kiln::ir {

bool is_unchanged_parameter(mlir::Value v) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(v);
  auto function = argument ? llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp())
                           : mlir::func::FuncOp();
  if (!function || !function.getArgAttr(argument.getArgNumber(), parameter_attr)) return false;
  auto writes = function->getAttrOfType<mlir::DenseI64ArrayAttr>(writes_attr);
  return !writes || !std::ranges::binary_search(writes.asArrayRef(), argument.getArgNumber());
}

bool derives_from_parameters(mlir::Operation* op) {
  bool only_constants = true;
  for (mlir::Value v : op->getOperands()) {
    const mlir::Value memory = memory_of(v);
    mlir::Operation* maker = memory.getDefiningOp();
    if (llvm::isa_and_present<ConstantOp>(maker)) continue;
    if (maker ? !is_prepacked(maker) : !is_unchanged_parameter(memory)) return false;
    only_constants = false;
  }
  return !only_constants;
}

}  // namespace kiln::ir
