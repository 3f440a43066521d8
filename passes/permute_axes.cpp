// Clones operations with their axes permuted.
#include "passes/permute_axes.h"

#include "ir/dialect.h"

#include <mlir/Dialect/Utils/IndexingUtils.h>

namespace kiln::passes {

mlir::Operation* clone_with_axes(mlir::OpBuilder& builder, mlir::Operation* op, mlir::IRMapping& map,
                                 llvm::ArrayRef<std::int64_t> order) {
  mlir::Operation* clone = builder.clone(*op, map);
  const mlir::RankedTensorType type = ir::ranked(op->getResult(0));
  const auto moved = [&](llvm::ArrayRef<std::int64_t> of_axes) {
    return mlir::applyPermutation(of_axes, order);
  };
  clone->getResult(0).setType(mlir::RankedTensorType::get(moved(type.getShape()), type.getElementType()));
  if (auto pad = llvm::dyn_cast<ir::PadOp>(clone)) {
    pad.setLow(moved(pad.getLow()));
    pad.setHigh(moved(pad.getHigh()));
  } else if (auto extend = llvm::dyn_cast<ir::ExtendOp>(clone)) {
    extend.setLow(moved(extend.getLow()));
    extend.setHigh(moved(extend.getHigh()));
  } else if (auto slice = llvm::dyn_cast<ir::SliceOp>(clone)) {
    slice.setStart(moved(slice.getStart()));
    slice.setLimit(moved(slice.getLimit()));
    slice.setStep(moved(slice.getStep()));
  } else if (auto insert = llvm::dyn_cast<ir::InsertOp>(clone)) {
    insert.setStart(moved(insert.getStart()));
    insert.setStep(moved(insert.getStep()));
  } else if (auto concat = llvm::dyn_cast<ir::ConcatenateOp>(clone)) {
    const auto places = mlir::invertPermutationVector(order);
    concat.setAxis(static_cast<std::uint64_t>(places[static_cast<std::size_t>(concat.getAxis())]));
  }
  return clone;
}

}  // namespace kiln::passes
