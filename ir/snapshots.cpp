#include "ir/snapshots.h"

#include "ir/views.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::ir {
namespace {

constexpr std::int64_t max_growth = 1 << 20;  // bytes of results over those of operands

/// Whether it is a parameter that the call leaves as it is: one that a step of training changes is another in
/// each call.
bool is_kept_parameter(mlir::Value v) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(v);
  auto function = argument ? llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp())
                           : mlir::func::FuncOp();
  if (!function || !function.getArgAttr(argument.getArgNumber(), parameter_attr)) return false;
  auto writes = function->getAttrOfType<mlir::DenseI64ArrayAttr>(writes_attr);
  return !writes || !llvm::is_contained(writes.asArrayRef(), argument.getArgNumber());
}

/// Whether it always makes the same of the same operands, in memory of its own.
bool is_function_of_operands(mlir::Operation* op) {
  if (auto fusion = llvm::dyn_cast<FusionOp>(op))
    return llvm::none_of(fusion.getBody().front(),
                         [](mlir::Operation& inner) { return llvm::isa<RandomUniformOp, InsertOp>(inner); });
  return llvm::isa<PackOp, ConcatenateOp, ReduceOp>(op) || is_pointwise(op) || is_movement(op) ||
         is_product(op);
}

bool is_worth_memory(mlir::Operation* op) {
  if (llvm::isa<PackOp>(op)) return true;
  std::int64_t made = 0, read = 0;
  for (mlir::Value v : op->getResults()) made += bytes_of(v);
  for (mlir::Value v : op->getOperands()) read += bytes_of(v);
  return made <= read + max_growth;
}

}  // namespace

llvm::DenseSet<mlir::Operation*> find_snapshots(mlir::Block& block) {
  llvm::DenseSet<mlir::Operation*> returned, found;
  for (mlir::Value v : block.getTerminator()->getOperands()) returned.insert(memory_of(v).getDefiningOp());
  for (mlir::Operation& op : block.without_terminator()) {
    bool reads_parameter = false;
    const bool known = llvm::all_of(op.getOperands(), [&](mlir::Value v) {
      mlir::Operation* maker = v.getDefiningOp();
      const bool constant = llvm::isa_and_present<ConstantOp>(maker);
      reads_parameter |= !constant;
      return constant || is_kept_parameter(v) || found.contains(maker);
    });
    if (known && reads_parameter && !returned.contains(&op) && is_function_of_operands(&op) &&
        is_worth_memory(&op))
      found.insert(&op);
  }
  return found;
}

}  // namespace kiln::ir
