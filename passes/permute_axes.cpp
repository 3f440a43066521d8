// Clones operations with their axes permuted.
#include "passes/permute_axes.h"

#include "ir/dialect.h"
#include "ir/stages.h"

#include <mlir/Dialect/Utils/IndexingUtils.h>

#include <numeric>

namespace kiln::passes {

mlir::Operation* clone_with_axes(mlir::OpBuilder& builder, mlir::Operation* op, mlir::IRMapping& map,
                                 llvm::ArrayRef<std::int64_t> order) {
  mlir::Operation* clone = builder.clone(*op, map);
  const mlir::RankedTensorType type = ir::ranked(op->getResult(0));
  const auto moved = [&](llvm::ArrayRef<std::int64_t> of_axes) {
    return mlir::applyPermutation(of_axes, order);
  };
  clone->getResult(0).setType(mlir::RankedTensorType::get(moved(type.getShape()), type.getElementType()));
  if (auto concat = llvm::dyn_cast<ir::ConcatenateOp>(clone)) {
    const auto places = mlir::invertPermutationVector(order);
    concat.setAxis(static_cast<std::uint64_t>(places[static_cast<std::size_t>(concat.getAxis())]));
  } else if (ir::is_per_axis(clone)) {
    for (mlir::StringAttr name : clone->getName().getAttributeNames())
      if (auto list = clone->getAttrOfType<mlir::DenseI64ArrayAttr>(name))
        clone->setAttr(name, builder.getDenseI64ArrayAttr(moved(list)));
  }
  return clone;
}

mlir::Value with_last_axes_swapped(mlir::OpBuilder& builder, mlir::Value v) {
  const auto rank = static_cast<std::size_t>(ir::ranked(v).getRank());
  llvm::SmallVector<std::int64_t, 6> order(rank), shape(ir::ranked(v).getShape());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 2], order[rank - 1]);
  std::swap(shape[rank - 2], shape[rank - 1]);
  return ir::TransposeOp::create(builder, v.getLoc(), ir::with_shape(v, shape), v, order);
}

}  // namespace kiln::passes
