// Rewrites slices of a contraction's epilogue into an epilogue of slices.
#include "passes/lift_slices.h"

#include "ir/views.h"
#include "ir/windows.h"
#include "passes/sweep.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>

#include <queue>
#include <vector>

namespace kiln::passes {
namespace {

/// The maximum number of operations for all points of a window, such that their combination fits in the same
/// kernel.
constexpr std::size_t max_lifted_operations = 48;

/// A contraction and its epilogue.
struct End {
  mlir::Operation* product;
  llvm::SmallVector<mlir::Operation*> ops;  ///< pointwise ones that depend on it, in program order
};

/// The epilogue whose only result is `v`.
std::optional<End> end_at(mlir::Value v) {
  const auto is_earlier = [](mlir::Operation* a, mlir::Operation* b) { return a->isBeforeInBlock(b); };
  std::priority_queue<mlir::Operation*, std::vector<mlir::Operation*>, decltype(is_earlier)> makers(
      is_earlier);
  llvm::SmallPtrSet<mlir::Operation*, 16> seen;
  llvm::SetVector<mlir::Operation*> needed;  // the last operation first
  const auto is_needed = [&](mlir::Operation* user) { return needed.contains(user); };
  const auto need = [&](mlir::Operation* op) {
    needed.insert(op);
    for (mlir::Value x : op->getOperands())
      if (mlir::Operation* maker = x.getDefiningOp(); maker && seen.insert(maker).second) makers.push(maker);
  };
  for (need(v.getDefiningOp()); !makers.empty();) {
    mlir::Operation* op = makers.top();
    makers.pop();
    if (!llvm::all_of(op->getUsers(), is_needed)) continue;
    if (ir::is_pointwise(op)) need(op);
    if (!ir::is_product(op)) continue;
    End end{op, {}};
    llvm::SmallPtrSet<mlir::Operation*, 16> dependent{op};
    const auto depends = [&](mlir::Value x) { return dependent.contains(x.getDefiningOp()); };
    for (mlir::Operation* next : llvm::reverse(needed)) {
      if (!llvm::any_of(next->getOperands(), depends)) continue;
      dependent.insert(next);
      end.ops.push_back(next);
    }
    return end;
  }
  return std::nullopt;
}

/// Emits an epilogue once per point of the windows.
class Lifter {
 public:
  Lifter(const End& end, const ir::Windows& windows) : end_(end), windows_(windows) {}

  void lift(ir::SliceOp slice) {
    mlir::OpBuilder builder(slice);
    mlir::IRMapping map;
    for (mlir::Operation* op : end_.ops) {
      for (mlir::Value v : op->getOperands())
        if (!map.contains(v)) map.map(v, at_point(builder, v, slice));
      mlir::Operation* clone = builder.clone(*op, map);
      clone->getResult(0).setType(type_at_point(op->getResult(0)));
      map.map(op->getResult(0), clone->getResult(0));
    }
    slice.replaceAllUsesWith(map.lookup(slice.getX()));
    slice.erase();
  }

 private:
  mlir::RankedTensorType type_at_point(mlir::Value v) const {
    return mlir::RankedTensorType::get(windows_.shape, ir::ranked(v).getElementType());
  }

  mlir::Value at_point(mlir::OpBuilder& builder, mlir::Value v, ir::SliceOp slice) {
    if (mlir::Value known = same_.lookup(v)) return known;
    const mlir::RankedTensorType type = type_at_point(v);
    if (auto splat = ir::splat_of(v))
      return same_[v] = ir::ConstantOp::create(builder, v.getLoc(), type, splat.resizeSplat(type));
    const mlir::Value result = ir::SliceOp::create(builder, slice.getLoc(), type, v, slice.getStart(),
                                                   slice.getLimit(), slice.getStep());
    if (is_same_in_window(v)) same_[v] = result;
    return result;
  }

  bool is_same_in_window(mlir::Value v) const {
    const ir::View view = ir::view_of(v);
    for (auto [size, stride] : llvm::zip(windows_.size, view.strides))
      if (size > 1 && stride != 0) return false;
    return true;
  }

  const End& end_;
  const ir::Windows& windows_;
  llvm::DenseMap<mlir::Value, mlir::Value> same_;  // at all points of a window
};

void lift_windows_over(mlir::Operation* op, std::int64_t max_points) {
  const auto windows = ir::windows_over(op->getResult(0));
  if (!windows) return;
  const auto end = end_at(op->getResult(0));
  if (!end || !ir::has_windows(end->product, *windows) || windows->points() > max_points ||
      end->ops.size() * static_cast<std::size_t>(windows->points()) > max_lifted_operations)
    return;
  for (mlir::Operation* of_end : end->ops)
    for (mlir::Value v : of_end->getOperands())
      if (mlir::Operation* def = v.getDefiningOp(); def && is_nullary(def) && !ir::splat_of(v)) return;
  // In program order, so that operations common to all points precede each of them.
  llvm::SmallVector<ir::SliceOp> slices;
  for (mlir::Operation* user : op->getUsers()) slices.push_back(llvm::cast<ir::SliceOp>(user));
  llvm::sort(slices, [](ir::SliceOp a, ir::SliceOp b) { return a->isBeforeInBlock(b); });
  Lifter lifter(*end, *windows);
  for (ir::SliceOp slice : slices) lifter.lift(slice);
}

class LiftSlices final : public mlir::PassWrapper<LiftSlices, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LiftSlices)
  explicit LiftSlices(const TargetModel& target) : target_(target) {}
  llvm::StringRef getArgument() const override { return "kiln-lift-slices"; }
  llvm::StringRef getDescription() const override { return "Move windows of poolings up to contractions"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    mlir::Block& block = getOperation().front();
    // A dead operation would count as a user.
    erase_dead(block);
    llvm::SmallVector<mlir::Operation*> pointwise;
    for (mlir::Operation& op : block)
      if (ir::is_pointwise(&op)) pointwise.push_back(&op);
    for (mlir::Operation* op : pointwise) lift_windows_over(op, target_.max_window_points());
    erase_dead(block);
  }

 private:
  const TargetModel& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_lift_slices_pass(const TargetModel& target) {
  return std::make_unique<LiftSlices>(target);
}

}  // namespace kiln::passes
