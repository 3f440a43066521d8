// Constant folding: finds the constant part, outlines it as a module, evaluates it and inserts the values.
#include "passes/fold.h"

#include "passes/sweep.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/OwningOpRef.h>
#include <mlir/Pass/Pass.h>

#include <exception>

namespace kiln::passes {
namespace {

constexpr std::int64_t max_bytes = 16 << 20;  // of any value during evaluation
constexpr std::int64_t max_growth = 1 << 20;  // of a new constant over the constants that it is computed from

/// The operations of a function that do not depend on its arguments.
class ConstantPart {
 public:
  explicit ConstantPart(mlir::Block& block) {
    for (mlir::Operation& op : block.without_terminator()) classify(&op);
    // Users are visited before operands: an operation left to run time needs its operands.
    for (mlir::Operation& op : llvm::reverse(block.without_terminator()))
      if (computed(&op) && wanted(&op)) (worth(&op) ? frontier_ : left_).insert(&op);
  }

  /// Constant operations whose values are used by other operations; last first.
  llvm::ArrayRef<mlir::Operation*> frontier() const { return frontier_.getArrayRef(); }
  bool is_splat(mlir::Operation* op) const { return splats_.contains(op); }

  /// The operations that the frontier is computed from, itself included.
  llvm::DenseSet<mlir::Operation*> needed() const {
    llvm::DenseSet<mlir::Operation*> set;
    for (mlir::Operation* op : frontier_) collect(op, set);
    return set;
  }

 private:
  void classify(mlir::Operation* op) {
    if (op->getNumResults() != 1 || op->getNumRegions() != 0) return;
    // No CPU computes the bits of tensor cores.
    if (llvm::isa<ir::RandomUniformOp, ir::CheckBoundsOp>(op) || ir::is_on_tensor_cores(op) ||
        !llvm::isa<ir::KilnDialect>(op->getDialect()))
      return;
    if (ir::ranked(op->getResult(0)).getNumElements() == 0) return;
    bool all_splats = true;
    for (mlir::Value v : op->getOperands()) {
      mlir::Operation* def = v.getDefiningOp();
      if (!def || !known_.contains(def)) return;
      all_splats &= splats_.contains(def);
    }
    bool splat = ir::splat_of(op->getResult(0)) ||
                 (op->getNumOperands() > 0 && all_splats && (ir::is_pointwise(op) || ir::is_view_op(op)));
    if (!splat && !llvm::isa<ir::ConstantOp>(op)) {
      if (ir::bytes_of(op->getResult(0)) > max_bytes) return;
      for (mlir::Value v : op->getOperands())
        if (ir::bytes_of(v) > max_bytes) return;
    }
    known_.insert(op);
    if (splat) splats_.insert(op);
  }

  bool computed(mlir::Operation* op) const {
    return known_.contains(op) && !llvm::isa<ir::ConstantOp, ir::IotaOp>(op);
  }

  bool wanted(mlir::Operation* op) const {
    return llvm::any_of(op->getUsers(), [&](mlir::Operation* user) {
      return !known_.contains(user) || left_.contains(user);
    });
  }

  bool worth(mlir::Operation* op) const {
    if (is_splat(op)) return true;
    if (ir::is_view_op(op)) return false;
    if (ir::bytes_of(op->getResult(0)) <= max_growth) return true;
    llvm::DenseSet<mlir::Operation*> slice;
    collect(op, slice);
    std::int64_t inputs = 0;
    for (mlir::Operation* o : slice)
      if (llvm::isa<ir::ConstantOp>(o) && !is_splat(o)) inputs += ir::bytes_of(o->getResult(0));
    return ir::bytes_of(op->getResult(0)) <= inputs + max_growth;
  }

  static void collect(mlir::Operation* op, llvm::DenseSet<mlir::Operation*>& set) {
    llvm::SmallVector<mlir::Operation*> stack{op};
    while (!stack.empty()) {
      mlir::Operation* o = stack.pop_back_val();
      if (!set.insert(o).second) continue;
      for (mlir::Value v : o->getOperands()) stack.push_back(v.getDefiningOp());
    }
  }

  llvm::DenseSet<mlir::Operation*> known_, splats_;
  llvm::SetVector<mlir::Operation*> frontier_, left_;
};

/// The constant part as a separate program: `func.func @folded() -> (...)`.
class Outliner {
 public:
  Outliner(const ConstantPart& part, mlir::Block& block)
      : part_(part), builder_(block.getParentOp()->getContext()) {
    mlir::Location loc = block.getParentOp()->getLoc();
    module_ = mlir::ModuleOp::create(loc);
    builder_.setInsertionPointToEnd(module_->getBody());
    auto function = mlir::func::FuncOp::create(builder_, loc, "folded", builder_.getFunctionType({}, {}));
    function->setAttr(evaluated_attr, builder_.getUnitAttr());
    builder_.setInsertionPointToStart(function.addEntryBlock());

    llvm::DenseSet<mlir::Operation*> needed = part.needed();
    for (mlir::Operation& op : block.without_terminator())
      if (needed.contains(&op)) copy(&op);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Operation* op : part.frontier())
      results.push_back(part.is_splat(op) ? one_.lookup(op->getResult(0)) : whole_.lookup(op->getResult(0)));
    mlir::func::ReturnOp::create(builder_, loc, results);
    function.setFunctionType(builder_.getFunctionType({}, mlir::ValueRange(results).getTypes()));
  }

  mlir::ModuleOp module() { return *module_; }

 private:
  static mlir::RankedTensorType one_element(mlir::Value v) {
    return mlir::RankedTensorType::get({1}, ir::ranked(v).getElementType());
  }

  void copy(mlir::Operation* op) {
    mlir::Value result = op->getResult(0);
    if (!part_.is_splat(op)) {
      mlir::IRMapping map;
      for (mlir::Value v : op->getOperands()) map.map(v, whole(v));
      whole_[result] = builder_.clone(*op, map)->getResult(0);
    } else if (auto constant = llvm::dyn_cast<ir::ConstantOp>(op)) {
      auto value = llvm::cast<mlir::DenseElementsAttr>(constant.getValue()).resizeSplat(one_element(result));
      one_[result] = ir::ConstantOp::create(builder_, op->getLoc(), value.getType(), value);
    } else if (ir::is_view_op(op)) {
      one_[result] = one_.lookup(op->getOperand(0));
    } else {
      mlir::IRMapping map;
      for (mlir::Value v : op->getOperands()) map.map(v, one_.lookup(v));
      mlir::Operation* clone = builder_.clone(*op, map);
      clone->getResult(0).setType(one_element(result));
      one_[result] = clone->getResult(0);
    }
  }

  /// A value in its full shape: a splat is expanded if a user is not pointwise.
  mlir::Value whole(mlir::Value v) {
    mlir::Value& found = whole_[v];
    if (found) return found;
    mlir::Value one = one_.lookup(v);
    auto type = ir::ranked(v);
    mlir::Location loc = v.getLoc();
    if (auto constant = one.getDefiningOp<ir::ConstantOp>()) {
      auto value = llvm::cast<mlir::DenseElementsAttr>(constant.getValue()).resizeSplat(type);
      found = ir::ConstantOp::create(builder_, loc, type, value);
    } else if (type.getRank() == 0) {
      found = ir::ReshapeOp::create(builder_, loc, type, one);
    } else {
      found = ir::BroadcastOp::create(builder_, loc, type, one, llvm::ArrayRef<std::int64_t>{0});
    }
    return found;
  }

  const ConstantPart& part_;
  mlir::OpBuilder builder_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  llvm::DenseMap<mlir::Value, mlir::Value> one_;    // splats, as arrays of one element
  llvm::DenseMap<mlir::Value, mlir::Value> whole_;  // everything else
};

/// An array whose elements are all one bit pattern, as a splat.
mlir::ElementsAttr compressed(mlir::ElementsAttr value, mlir::RankedTensorType type) {
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value);
  if (!dense) return value;
  if (dense.isSplat()) return dense.resizeSplat(type);
  if (type.getElementTypeBitWidth() < 8) {
    auto bits = dense.getValues<bool>();
    return llvm::all_equal(bits) ? mlir::DenseElementsAttr::get(type, *bits.begin()) : dense;
  }
  llvm::ArrayRef<char> raw = dense.getRawData();
  std::size_t size = type.getElementTypeBitWidth() / 8;
  // Equal to itself shifted by one element: all elements equal the first.
  if (raw.size() <= size || raw.drop_front(size) != raw.drop_back(size)) return dense;
  return mlir::DenseElementsAttr::getFromRawBuffer(type, raw.take_front(size));
}

class Fold final : public mlir::PassWrapper<Fold, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fold)
  explicit Fold(Evaluate evaluate) : evaluate_(std::move(evaluate)) {}
  llvm::StringRef getArgument() const override { return "kiln-fold"; }
  llvm::StringRef getDescription() const override {
    return "Evaluate the constant part with generated kernels";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    mlir::func::FuncOp function = getOperation();
    if (!evaluate_ || function->hasAttr(evaluated_attr)) return;
    mlir::Block& block = function.front();
    ConstantPart part(block);
    if (part.frontier().empty()) return;
    // No exception may cross MLIR, which is compiled without them.
    try {
      Outliner outlined(part, block);
      replace(part, evaluate_(outlined.module()));
    } catch (const std::exception& e) {
      function.emitError() << "constants cannot be evaluated: " << e.what();
      return signalPassFailure();
    }
    erase_dead(block);
  }

 private:
  static void replace(const ConstantPart& part, llvm::ArrayRef<mlir::ElementsAttr> values) {
    if (values.size() != part.frontier().size())
      llvm::report_fatal_error("folding: evaluation lost a result");
    for (auto [op, value] : llvm::zip(part.frontier(), values)) {
      auto type = ir::ranked(op->getResult(0));
      mlir::OpBuilder builder(op);
      auto constant = ir::ConstantOp::create(builder, op->getLoc(), type, compressed(value, type));
      op->getResult(0).replaceAllUsesWith(constant.getResult());
    }
  }

  Evaluate evaluate_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_fold_pass(Evaluate evaluate) {
  return std::make_unique<Fold>(std::move(evaluate));
}

}  // namespace kiln::passes
