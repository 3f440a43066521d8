// Propagates channels-last orders from convolutions to elementwise and window operations.
#include "passes/memory_order.h"

#include "ir/dialect.h"
#include "ir/stages.h"
#include "passes/convolution_layout.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/Dialect/Utils/IndexingUtils.h>

namespace kiln::passes {

llvm::DenseMap<mlir::Value, MemoryOrder> memory_orders(mlir::Block& block, const TargetModel& target) {
  llvm::DenseMap<mlir::Value, MemoryOrder> orders;
  const auto order_of = [&](mlir::Operation& op) -> MemoryOrder {
    // Results of the other layouts with the channels first are returned, perhaps after elementwise
    // operations: no operation chooses by their order.
    if (auto convolution = llvm::dyn_cast<ir::ConvolutionOp>(op))
      return layout_of(convolution, target) == ConvolutionLayout::lines
                 ? MemoryOrder()
                 : channels_last_order(ir::ranked(convolution.getResult()).getRank());
    if (auto transpose = llvm::dyn_cast<ir::TransposeOp>(op)) {
      const auto source = orders.find(transpose.getX());
      if (source == orders.end()) return {};
      // Axis i of the result is axis permutation[i] of the operand.
      return mlir::applyPermutation(mlir::invertPermutationVector(transpose.getPermutation()),
                                    source->second);
    }
    const bool keeps_order = ir::is_pointwise(&op) || llvm::isa<ir::ReduceWindowOp, ir::ReverseOp>(op) ||
                             (ir::is_per_axis(&op) && !llvm::isa<ir::InsertOp>(op));
    if (!keeps_order) return {};
    for (mlir::Value v : op.getOperands())
      if (const auto known = orders.find(v); known != orders.end()) return known->second;
    return {};
  };
  for (mlir::Operation& op : block.without_terminator()) {
    if (op.getNumResults() != 1) continue;
    MemoryOrder order = order_of(op);
    if (!order.empty() && !llvm::is_sorted(order)) orders.try_emplace(op.getResult(0), std::move(order));
  }
  return orders;
}

}  // namespace kiln::passes
