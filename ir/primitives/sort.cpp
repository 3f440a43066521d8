// The stable argsort along the last axis.
#include "ir/emission.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct SortPrimitive {
  bool descending;

  static constexpr bool differentiable = false;
  ResultType type(const TensorType& x) const {
    if (x.shape.empty())
      return Mismatch{kiln::compose("sort needs an array of at least one axis, got {}", x.str()),
                      "needs an axis"};
    return TensorType{DType::i64, x.shape};
  }
  void emit(Emission& e) const {
    e.make<SortOp>(sort_scratch(e.in(0), ranked(e.in(0)).getShape().back()), e.in(0), descending);
  }
};

}  // namespace

Value Primitives::sort(Value x, bool descending) {
  const SortPrimitive sort{descending};
  return record(sort, {{x}}, sort.type(type(x)));
}

bool sorts_packed(mlir::Value x) {
  return ranked(x).getElementTypeBitWidth() <= 32 && ranked(x).getShape().back() < (std::int64_t{1} << 31);
}

mlir::RankedTensorType sort_scratch(mlir::Value x, std::int64_t count) {
  auto type = ranked(x);
  std::int64_t extent = type.getShape().back(),
               rows = mlir::ShapedType::getNumElements(type.getShape().drop_back());
  const bool packed = sorts_packed(x);
  const std::int64_t of_row =
      count < extent ? (packed ? 2 : 4) * sort_candidates(count) : (packed ? 1 : 3) * extent;
  return mlir::RankedTensorType::get({rows, of_row}, mlir::IntegerType::get(type.getContext(), 64));
}

bool sorts_part(SortOp op) {
  return ranked(op.getOrder()).getShape().back() < ranked(op.getX()).getShape().back();
}

mlir::LogicalResult SortOp::verify() {
  const mlir::RankedTensorType x = ranked(getX()), order = ranked(getOrder());
  if (x.getRank() == 0) return emitOpError("needs an axis");
  const std::int64_t extent = x.getShape().back(), count = order.getRank() == 0 ? 0 : order.getShape().back();
  const bool part = count > 0 && sort_candidates(count) < extent;
  llvm::SmallVector<std::int64_t> shape(x.getShape());
  if (part) shape.back() = count;
  const auto expected = mlir::RankedTensorType::get(shape, mlir::IntegerType::get(getContext(), 64));
  if (order != expected) return emitOpError() << "must give " << expected << ", not " << order;
  const mlir::RankedTensorType scratch = sort_scratch(getX(), shape.back());
  if (getScratch().getType() != scratch) return emitOpError() << "must have the scratch memory " << scratch;
  return mlir::success();
}

}  // namespace kiln::ir
