// Remembers which casts of a node widened half precision.
#include "ir/widened_casts.h"

#include "runtime/dtype_table.h"

#include <mlir/IR/IRMapping.h>

namespace kiln::ir {

bool widens_half(CastOp cast) {
  return ranked(cast).getElementType().isF32() &&
         is_narrow_float(dtype_of_element(ranked(cast.getX()).getElementType()));
}

bool widens_bytes(CastOp cast) {
  const mlir::Type from = ranked(cast.getX()).getElementType();
  return ranked(cast).getElementType().isF32() && from.isIntOrIndex() && from.getIntOrFloatBitWidth() <= 8;
}

/// The operation that computes v, before views of it.
static mlir::Operation* before_views(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  while (op && is_view_op(op)) op = op->getOperand(0).getDefiningOp();
  return op;
}

void WidenedCasts::note(CastOp cast, const Node* node) {
  if (!node) return;
  if (kiln::ir::widens_bytes(cast)) of_bytes_[cast] = node;
  if (!widens_half(cast)) return;
  nodes_[cast] = node;
  widening_.insert(node);
}

bool WidenedCasts::widens_bytes(mlir::Value v, const Node* node) const {
  mlir::Operation* const op = before_views(v);
  return op && node && of_bytes_.lookup(op) == node;
}

mlir::Type WidenedCasts::half_of(mlir::Value v, const Node* node) const {
  mlir::Operation* const op = before_views(v);
  if (!op || !node || nodes_.lookup(op) != node) return {};
  return ranked(op->getOperand(0)).getElementType();
}

mlir::Value WidenedCasts::narrowed(mlir::OpBuilder& builder, mlir::Value v, mlir::Type half) {
  mlir::Operation* const op = v.getDefiningOp();
  if (llvm::isa<CastOp>(op)) return op->getOperand(0);
  mlir::IRMapping map;
  map.map(op->getOperand(0), narrowed(builder, op->getOperand(0), half));
  mlir::Operation* const view = builder.clone(*op, map);
  view->getResult(0).setType(mlir::RankedTensorType::get(ranked(v).getShape(), half));
  return view->getResult(0);
}

}  // namespace kiln::ir
