// Applies the precision of a node to its contractions.
#include "ir/contraction.h"

#include "ir/graph.h"
#include "ir/views.h"

#include <mlir/IR/IRMapping.h>

namespace kiln::ir {
namespace {

/// Whether all elements of v are integers of 8 bits or fewer, which bfloat16 represents exactly.
bool widens_bytes(mlir::Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  return cast && ranked(cast.getX()).getElementType().isIntOrIndex() &&
         ranked(cast.getX()).getElementTypeBitWidth() <= 8;
}

/// v rounded to bfloat16, in float32. Elements are rounded before they are transposed or repeated: passes
/// find a transpose as an operand of the contraction, and all uses of an array share its rounding.
mlir::Value rounded(const Emission& e, mlir::Value v) {
  const mlir::Value exact = v;
  llvm::SmallVector<mlir::Operation*, 4> views;
  while (mlir::Operation* view = v.getDefiningOp()) {
    if (!llvm::isa<TransposeOp, BroadcastOp, ReverseOp>(view) || views.size() == max_view_chain) break;
    views.push_back(view);
    v = view->getOperand(0);
  }
  if (widens_bytes(v)) return exact;
  const mlir::RankedTensorType type = ranked(v);
  const auto narrow = mlir::RankedTensorType::get(type.getShape(), e.builder.getBF16Type());
  mlir::Value rounding = CastOp::create(e.builder, e.location, narrow, v);
  mlir::Value out = CastOp::create(e.builder, e.location, type, rounding);
  for (mlir::Operation* view : llvm::reverse(views)) {
    mlir::IRMapping map;
    map.map(view->getOperand(0), out);
    out = e.builder.clone(*view, map)->getResult(0);
  }
  return out;
}

Precision precision_of(const Emission& e) {
  return e.node ? e.node->precision.value_or(e.target.precision) : e.target.precision;
}

}  // namespace

Contraction contraction_of(const Emission& e, Algorithm exact, OnTensorCores possible) {
  const Contraction plain{exact, e.in(0), e.in(1)};
  if (!e.type.getElementType().isF32()) return plain;
  const Precision precision = precision_of(e);
  if (precision == Precision::bf16) {
    // An operator of half precision computes in f32, too: its operands stay as they are.
    if (e.widened.has_widened(e.node)) return plain;
    return {Algorithm::chained512, rounded(e, plain.lhs), rounded(e, plain.rhs)};
  }
  if (precision == Precision::exact || possible == OnTensorCores::no || !e.target.has_tensor_cores)
    return plain;
  const mlir::Type a = e.widened.half_of(plain.lhs, e.node), b = e.widened.half_of(plain.rhs, e.node);
  if (a && a == b)
    return {Algorithm::tensor_cores, WidenedCasts::narrowed(e.builder, plain.lhs, a),
            WidenedCasts::narrowed(e.builder, plain.rhs, b)};
  return precision == Precision::tf32 ? Contraction{Algorithm::tensor_cores, plain.lhs, plain.rhs} : plain;
}

}  // namespace kiln::ir
