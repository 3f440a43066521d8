// Verifiers of the operations that hold bodies.
#include "ir/dialect.h"

namespace kiln::ir {
namespace {

/// Verifies a body's arguments and yielded values.
mlir::LogicalResult expect_signature(mlir::Operation* op, mlir::Region& body, mlir::TypeRange arguments,
                                     mlir::TypeRange yielded) {
  mlir::Block& block = body.front();
  if (block.getArgumentTypes() != arguments)
    return op->emitOpError() << "needs a body with arguments of " << arguments << ", not "
                             << block.getArgumentTypes();
  auto yield = block.empty() ? nullptr : llvm::dyn_cast<YieldOp>(block.back());
  if (!yield) return op->emitOpError("needs a body that ends in kiln.yield");
  if (yield.getOperandTypes() != yielded)
    return op->emitOpError() << "needs a body that yields " << yielded << ", not " << yield.getOperandTypes();
  return mlir::success();
}

bool is_one_bool(mlir::Value v) {
  return ranked(v).getNumElements() == 1 && ranked(v).getElementType().isInteger(1);
}

}  // namespace

mlir::RankedTensorType row_type(mlir::Type stacked) {
  auto type = llvm::cast<mlir::RankedTensorType>(stacked);
  return mlir::RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
}

mlir::LogicalResult LoopOp::verify() {
  auto steps = static_cast<std::int64_t>(getSteps());
  if (steps < 0) return emitOpError("needs a number of steps that is not negative");
  llvm::SmallVector<mlir::Type> arguments(getCarries().getTypes()), yielded(arguments);
  auto stacked = [&](mlir::Type type) {
    auto shape = llvm::cast<mlir::RankedTensorType>(type).getShape();
    return !shape.empty() && shape.front() == steps;
  };
  for (mlir::Type type : getRows().getTypes()) {
    if (!stacked(type)) return emitOpError() << "needs rows of extent " << steps << ", not " << type;
    arguments.push_back(row_type(type));
  }
  std::size_t carried = getCarries().size();
  if (getNumResults() < carried ||
      mlir::TypeRange(getResultTypes()).take_front(carried) != mlir::TypeRange(getCarries().getTypes()))
    return emitOpError("gives its carried values first");
  for (mlir::Type type : mlir::TypeRange(getResultTypes()).drop_front(carried)) {
    if (!stacked(type)) return emitOpError() << "needs outputs of extent " << steps << ", not " << type;
    yielded.push_back(row_type(type));
  }
  if (getCondition()) {
    if (!is_one_bool(getCondition())) return emitOpError("needs a condition of one bool");
    yielded.push_back(getCondition().getType());
  }
  return expect_signature(*this, getBody(), arguments, yielded);
}

mlir::LogicalResult IfOp::verify() {
  if (!is_one_bool(getCondition())) return emitOpError("chooses by one bool");
  if (mlir::failed(expect_signature(*this, getThen(), {}, getResultTypes()))) return mlir::failure();
  return expect_signature(*this, getOtherwise(), {}, getResultTypes());
}

}  // namespace kiln::ir
