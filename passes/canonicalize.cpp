// The sweeps of kiln-canonicalize: folders, constants to the right, dead operations.
#include "passes/canonicalize.h"

#include "ir/dialect.h"
#include "passes/sweep.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Matchers.h>

namespace kiln::passes {
namespace {

bool is_constant(mlir::Value v) { return v.getDefiningOp<ir::ConstantOp>() != nullptr; }

/// a + b and a * b are symmetric in every bit (NaNs count as one), max and min are not where zeros of both
/// signs meet.
bool move_constant_right(mlir::Operation* op) {
  auto binary = llvm::dyn_cast<ir::BinaryOp>(op);
  if (!binary || !llvm::is_contained({ir::Binary::add, ir::Binary::mul}, binary.getKind())) return false;
  if (!is_constant(binary.getLhs()) || is_constant(binary.getRhs())) return false;
  mlir::Value lhs = binary.getLhs();
  binary.getLhsMutable().assign(binary.getRhs());
  binary.getRhsMutable().assign(lhs);
  return true;
}

/// max(cast(x), c) is cast(max(x, c)) for a number c, and so is min: rounding keeps the order of numbers, and
/// c, which is of the narrower type, is exact in both. A cast next to the store of its value is shorter. No
/// zero may change its sign: x rounds to a zero of its own sign.
bool round_after_bound(mlir::Operation* op) {
  auto bound = llvm::dyn_cast<ir::BinaryOp>(op);
  if (!bound || (bound.getKind() != ir::Binary::max && bound.getKind() != ir::Binary::min)) return false;
  auto cast = bound.getLhs().getDefiningOp<ir::CastOp>();
  mlir::DenseFPElementsAttr constant;
  if (!cast || !cast.getResult().hasOneUse() ||
      !mlir::matchPattern(bound.getRhs(), mlir::m_Constant(&constant)) || !constant.isSplat())
    return false;
  const auto wide = ir::ranked(cast.getX());
  auto type = llvm::dyn_cast<mlir::FloatType>(wide.getElementType());
  llvm::APFloat number = constant.getSplatValue<llvm::APFloat>();
  const bool keeps_zeros = number.isNonZero() || (number.isPosZero() && bound.getKind() == ir::Binary::max);
  if (!type || type.getWidth() <= bound.getType().getElementTypeBitWidth() || number.isNaN() || !keeps_zeros)
    return false;
  bool inexact = false;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  if (inexact) return false;
  mlir::OpBuilder builder(op);
  const mlir::Value c = ir::ConstantOp::create(builder, bound.getRhs().getLoc(), wide,
                                               mlir::DenseElementsAttr::get(wide, number));
  auto bounded = ir::BinaryOp::create(builder, bound.getLoc(), wide, bound.getKind(), cast.getX(), c);
  auto rounded = ir::CastOp::create(builder, cast.getLoc(), bound.getType(), bounded);
  bound.replaceAllUsesWith(rounded.getResult());
  return true;
}

/// A broadcast of iota is iota along the corresponding axis of the result.
bool move_iota(mlir::Operation* op) {
  auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op);
  auto iota = broadcast ? broadcast.getX().getDefiningOp<ir::IotaOp>() : nullptr;
  if (!iota) return false;
  auto from = static_cast<std::size_t>(iota.getAxis());
  std::int64_t to = broadcast.getDims()[from];
  if (ir::ranked(iota.getResult()).getDimSize(static_cast<unsigned>(from)) !=
      ir::ranked(broadcast.getResult()).getDimSize(static_cast<unsigned>(to)))
    return false;  // one zero, repeated
  mlir::OpBuilder builder(op);
  broadcast.replaceAllUsesWith(
      ir::IotaOp::create(builder, broadcast.getLoc(), broadcast.getType(), to).getResult());
  return true;
}

/// The first elements of sorted rows, which no other operation reads, need no sort of whole rows.
bool sort_less(mlir::Operation* op) {
  auto slice = llvm::dyn_cast<ir::SliceOp>(op);
  auto sort = slice ? slice.getX().getDefiningOp<ir::SortOp>() : nullptr;
  if (!sort || slice.getX() != sort.getOrder() || !slice.getX().hasOneUse()) return false;
  const auto all = ir::ranked(slice.getX()).getShape(), part = slice.getType().getShape();
  const std::int64_t count = part.back();
  if (all.drop_back() != part.drop_back() || count == 0 || ir::sort_candidates(count) >= all.back())
    return false;
  if (llvm::any_of(slice.getStart(), [](std::int64_t i) { return i != 0; }) || slice.getStep().back() != 1)
    return false;
  mlir::OpBuilder builder(op);
  auto partial = ir::SortOp::create(builder, sort.getLoc(), slice.getType(),
                                    ir::sort_scratch(sort.getX(), count), sort.getX(), sort.getDescending());
  slice.replaceAllUsesWith(partial.getOrder());
  return true;
}

/// Runs the operation's folder until nothing changes. Returns whether the operation's uses were replaced.
bool fold_away(mlir::Operation* op) {
  llvm::SmallVector<mlir::OpFoldResult, 1> results;
  for (int rounds = 0; rounds < 16; ++rounds) {
    results.clear();
    if (mlir::failed(op->fold(results))) return false;
    if (results.empty()) continue;  // changed in place
    auto value = llvm::dyn_cast<mlir::Value>(results.front());
    if (!value) {
      mlir::OpBuilder builder(op);
      auto* constant = op->getDialect()->materializeConstant(
          builder, llvm::cast<mlir::Attribute>(results.front()), op->getResult(0).getType(), op->getLoc());
      if (!constant) return false;
      value = constant->getResult(0);
    }
    op->getResult(0).replaceAllUsesWith(value);
    return true;
  }
  return false;
}

class Canonicalize final : public mlir::PassWrapper<Canonicalize, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Canonicalize)
  llvm::StringRef getArgument() const override { return "kiln-canonicalize"; }
  llvm::StringRef getDescription() const override {
    return "Apply the dialect's identities and erase dead operations";
  }

  void runOnOperation() override {
    // Operands come first, so one walk forward sees each operation with its final operands.
    for_each_block(getOperation(), [](mlir::Block& block) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block.without_terminator())) {
        if (op.getNumResults() != 1 || op.getNumRegions() != 0 || llvm::isa<ir::ConstantOp>(op)) continue;
        move_constant_right(&op);
        if (!move_iota(&op) && !sort_less(&op) && !round_after_bound(&op)) fold_away(&op);
      }
    });
    for_each_block(getOperation(), erase_dead);
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_canonicalize_pass() { return std::make_unique<Canonicalize>(); }

}  // namespace kiln::passes
