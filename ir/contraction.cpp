// Applies the precision of a node to its contractions.
#include "ir/contraction.h"

#include "ir/graph.h"
#include "ir/views.h"

#include <mlir/IR/IRMapping.h>

namespace kiln::ir {
namespace {

/// v rounded to bfloat16. Elements are rounded before they are transposed or repeated: passes find a
/// transpose as an operand of the contraction, and all uses of an array share its rounding. `widened`: in
/// float32 again.
mlir::Value rounded(const Emission& e, mlir::Value v, bool widened) {
  const mlir::Value exact = v;
  llvm::SmallVector<mlir::Operation*, 4> views;
  while (mlir::Operation* view = v.getDefiningOp()) {
    if (!llvm::isa<TransposeOp, BroadcastOp, ReverseOp>(view) || views.size() == max_view_chain) break;
    views.push_back(view);
    v = view->getOperand(0);
  }
  if (auto cast = v.getDefiningOp<CastOp>(); widened && cast && widens_bytes(cast)) return exact;
  const mlir::RankedTensorType type = ranked(v);
  const auto half = mlir::RankedTensorType::get(type.getShape(), e.builder.getBF16Type());
  mlir::Value out = CastOp::create(e.builder, e.location, half, v);
  if (widened) out = CastOp::create(e.builder, e.location, type, out);
  for (mlir::Operation* view : llvm::reverse(views)) {
    mlir::IRMapping map;
    map.map(view->getOperand(0), out);
    mlir::Operation* const copy = e.builder.clone(*view, map);
    copy->getResult(0).setType(
        mlir::RankedTensorType::get(ranked(copy->getResult(0)).getShape(), ranked(out).getElementType()));
    out = copy->getResult(0);
  }
  return out;
}

Precision precision_of(const Emission& e) {
  return e.node ? e.node->precision.value_or(e.target.precision) : e.target.precision;
}

/// paired32 fills a step with zeros. With fewer neighbours most of it would be zeros.
bool pays_in_pairs(const ContractionShape& shape) {
  constexpr std::int64_t min_neighbours = 16;
  return shape.neighbours >= min_neighbours;
}

}  // namespace

Contraction contraction_of(const Emission& e, const ContractionShape& shape) {
  const Contraction plain{shape.exact, e.in(0), e.in(1)};
  if (!e.type.getElementType().isF32()) return plain;
  const mlir::Type a = e.widened.half_of(plain.lhs, e.node), b = e.widened.half_of(plain.rhs, e.node);
  const auto narrowed = [&](Algorithm algorithm) {
    return Contraction{algorithm, WidenedCasts::narrowed(e.builder, plain.lhs, a),
                       WidenedCasts::narrowed(e.builder, plain.rhs, a)};
  };
  const Precision precision = precision_of(e);
  const bool on_tensor_cores = shape.tensor_cores && e.target.has_tensor_cores &&
                               (precision == Precision::fast || precision == Precision::tf32);
  if (on_tensor_cores && a && a == b) return narrowed(Algorithm::tensor_cores);
  if (a && a == b && a.isBF16() && pays_in_pairs(shape)) return narrowed(Algorithm::paired32);
  if (precision == Precision::bf16) {
    // An operator of half precision computes in f32, too: its operands stay as they are.
    if (e.widened.has_widened(e.node)) return plain;
    // Integers that the node widens stay bytes in memory.
    const bool in_pairs = pays_in_pairs(shape) && !e.widened.widens_bytes(plain.lhs, e.node) &&
                          !e.widened.widens_bytes(plain.rhs, e.node);
    return {in_pairs ? Algorithm::paired32 : Algorithm::chained512, rounded(e, plain.lhs, !in_pairs),
            rounded(e, plain.rhs, !in_pairs)};
  }
  return on_tensor_cores && precision == Precision::tf32
             ? Contraction{Algorithm::tensor_cores, plain.lhs, plain.rhs}
             : plain;
}

}  // namespace kiln::ir
