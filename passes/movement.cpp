#include "passes/movement.h"

namespace kiln::passes {

bool is_nullary(mlir::Operation* op) {
  auto constant = llvm::dyn_cast_if_present<ir::ConstantOp>(op);
  return llvm::isa_and_present<ir::IotaOp>(op) || (constant && ir::splat_of(constant));
}

bool takes_elements(mlir::Operation* op) { return ir::is_pointwise(op) || llvm::isa<ir::ReduceOp>(op); }

bool takes_view(mlir::OpOperand& use) {
  mlir::Operation* op = use.getOwner();
  if (ir::is_product(op)) return use.getOperandNumber() == 0;
  return takes_elements(op);
}

// Kernels with a root read memory: iota is for pointwise ones.
bool makes_operand(mlir::Operation* user, mlir::Operation* op) {
  return is_nullary(op) &&
         (ir::is_pointwise(user) || (llvm::isa<ir::ReduceOp>(user) && llvm::isa<ir::ConstantOp>(op)));
}

Movement::Movement(mlir::Block& block, bool views) {
  if (!views)
    for (mlir::Operation& op : block)
      if (ir::is_movement(&op) && !llvm::isa<ir::ReshapeOp>(op)) buffers_.insert(&op);
  // A new buffer changes the strides of what is behind it, so until nothing changes; each round but the last
  // adds a buffer.
  for (bool changed = true; changed;) {
    changed = false;
    for (mlir::Operation& op : block) {
      if (ir::is_movement(&op) && !is_buffer(&op)) continue;
      for (mlir::OpOperand& use : op.getOpOperands()) changed |= settle(use);
    }
  }
}

std::optional<ir::View> Movement::try_view(mlir::Value v, mlir::Value& blocked) const {
  mlir::Operation* op = v.getDefiningOp();
  if (!op || !ir::is_movement(op) || is_buffer(op)) return ir::View::whole(v);
  auto inner = try_view(op->getOperand(0), blocked);
  if (!inner) return std::nullopt;
  auto view = ir::apply_movement(op, *inner);
  if (!view) blocked = op->getOperand(0);
  return view;
}

ir::View Movement::view(mlir::Value v) const {
  mlir::Value blocked;
  auto view = try_view(v, blocked);
  return view ? *view : ir::View::whole(v);
}

bool Movement::settle(mlir::OpOperand& use) {
  mlir::Value v = use.get();
  mlir::Operation *user = use.getOwner(), *op = v.getDefiningOp();
  if (!op || !ir::is_movement(op) || is_buffer(op)) return false;
  mlir::Value blocked;
  auto view = try_view(v, blocked);
  if (!view) return buffers_.insert(blocked.getDefiningOp()).second;
  if (ir::is_pointwise(user)) return false;
  // A copy reads its operand as its own movement says; it was a copy before its operand came to look at
  // another buffer.
  if (ir::is_movement(user)) return !ir::apply_movement(user, *view) && buffers_.insert(op).second;
  auto reduce = llvm::dyn_cast<ir::ReduceOp>(user);
  auto convolution = llvm::dyn_cast<ir::PackedConvolutionOp>(user);
  // Registers run along the last axis of the input too.
  const bool along_last = llvm::isa<ir::WinogradOp>(user) ||
                          (convolution && (ir::is_depthwise(convolution) || convolution.getChannelsFirst()));
  bool fits = reduce             ? reduces_one_axis(reduce, v, *this)
              : !takes_view(use) ? view->is_contiguous()
                                 : !along_last || view->strides.back() == 1;
  return !fits && buffers_.insert(op).second;
}

bool reduces_one_axis(ir::ReduceOp reduce, llvm::ArrayRef<mlir::Value> operands, const Movement& movement) {
  auto shape = ir::ranked(reduce.getX()).getShape();
  llvm::SmallVector<std::int64_t> extents;
  for (std::int64_t axis : reduce.getAxes()) extents.push_back(shape[static_cast<std::size_t>(axis)]);
  llvm::SmallVector<llvm::SmallVector<std::int64_t, 6>> strides;
  for (mlir::Value v : operands) {
    if (makes_operand(reduce, v.getDefiningOp())) continue;
    ir::View view = movement.view(v);
    auto& list = strides.emplace_back();
    for (std::int64_t axis : reduce.getAxes()) list.push_back(view.strides[static_cast<std::size_t>(axis)]);
  }
  ir::collapse_axes(extents, strides);
  return extents.size() <= 1;
}

}  // namespace kiln::passes
