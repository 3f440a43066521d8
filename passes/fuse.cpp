// Emits the groups of fusion_groups.h as kiln.fusion operations.
#include "passes/fuse.h"

#include "ir/prepacked.h"
#include "ir/stages.h"
#include "passes/fusion_groups.h"
#include "passes/prepack.h"
#include "passes/sweep.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>

namespace kiln::passes {
namespace {

/// Operations that code generation handles outside of fusions. A view is a separate copy, in a fusion.
bool stays(mlir::Operation* op) { return ir::may_stand(op, ir::Stage::kernels) && !ir::is_view_op(op); }

/// Emits the groups after the block's old operations, one new operation per group.
class Emitter {
 public:
  Emitter(mlir::Block& block, const ViewAnalysis& view_analysis,
          const llvm::DenseSet<mlir::Operation*>& prepackable)
      : builder_(block.getTerminator()),
        view_analysis_(view_analysis),
        prepackable_(prepackable),
        terminator_(block.getTerminator()) {}

  void emit(const FusionGroup& group) {
    mlir::Operation* only = group.ops.size() == 1 ? group.ops.front() : nullptr;
    if (only == terminator_) {
      for (mlir::OpOperand& use : only->getOpOperands()) use.set(buffer(use.get()));
    } else if (only && stays(only) && !is_nullary(only) && !packs_view(only)) {
      for (mlir::Value v : only->getOperands()) buffer(v);
      mark_prepacked(builder_.clone(*only, buffers_), group);
    } else {
      emit_kernel(group);
    }
  }

 private:
  /// Whether the operation packs weights that lie in memory in another order. The kernel then has the view.
  bool packs_view(mlir::Operation* op) const {
    auto pack = llvm::dyn_cast<ir::PackOp>(op);
    return pack && ir::packs_weights(pack) && !view_analysis_.view(pack.getX()).is_contiguous();
  }

  /// A kernel that also computes non-prepacked values is no longer prepacked; nor are values that derive from
  /// it.
  void mark_prepacked(mlir::Operation* op, const FusionGroup& group) {
    const auto is_prepackable = [&](mlir::Operation* old) { return prepackable_.contains(old); };
    if (llvm::all_of(group.ops, is_prepackable) && ir::derives_from_parameters(op))
      op->setAttr(ir::prepacked_attr, builder_.getUnitAttr());
  }

  /// The whole array `v` in the new program. Emits a reshape that only renames one.
  mlir::Value buffer(mlir::Value v) {
    if (mlir::Value known = buffers_.lookupOrNull(v)) return known;
    mlir::Value base = view_analysis_.base(v), result = base;
    if (base != v) {
      result = buffer(base);
      if (result.getType() != v.getType())
        result = ir::ReshapeOp::create(builder_, v.getLoc(), v.getType(), result);
    }
    buffers_.map(v, result);
    return result;
  }

  void emit_kernel(const FusionGroup& group) {
    llvm::SmallVector<mlir::Location> locations;
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Operation* op : group.ops) locations.push_back(op->getLoc());
    for (mlir::Operation* op : group.results) types.push_back(op->getResult(0).getType());
    mlir::Location loc = mlir::FusedLoc::get(builder_.getContext(), locations);

    auto body = std::make_unique<mlir::Region>();
    mlir::Block& block = body->emplaceBlock();
    Inside inside(builder_.getContext());
    inside.builder.setInsertionPointToEnd(&block);
    for (mlir::Operation* op : group.ops) put_in(inside, block, op);
    llvm::SmallVector<mlir::Value> values;
    for (mlir::Operation* op : group.results) values.push_back(inside.map.lookup(op->getResult(0)));
    ir::YieldOp::create(inside.builder, loc, values);

    auto fusion = ir::FusionOp::create(builder_, loc, types, inside.operands);
    fusion.getBody().takeBody(*body);
    if (!group.missed.empty()) {
      llvm::SmallVector<llvm::StringRef> reasons(group.missed.begin(), group.missed.end());
      fusion->setAttr(missed_fusion_attr, builder_.getStrArrayAttr(reasons));
    }
    mark_prepacked(fusion, group);
    for (auto [op, result] : llvm::zip(group.results, fusion.getResults()))
      buffers_.map(op->getResult(0), result);
  }

  struct Inside {
    explicit Inside(mlir::MLIRContext* context) : builder(context) {}
    mlir::OpBuilder builder;
    mlir::IRMapping map;                      // results, views and buffers
    llvm::SmallVector<mlir::Value> operands;  // of the fusion
    llvm::DenseMap<mlir::Value, mlir::Value>
        made;  // splats and iota; `map` may have them as buffers too, for views on them
  };

  void put_in(Inside& inside, mlir::Block& block, mlir::Operation* op) {
    auto is_made = [&](mlir::Value v) { return rematerializes(op, v.getDefiningOp()); };
    for (mlir::OpOperand& use : op->getOpOperands()) {
      if (is_made(use.get()) || inside.map.contains(use.get())) continue;
      if (takes_view(use) || ir::is_view_op(op))
        bring_in(inside, block, use.get());
      else
        bring_in_buffer(inside, block, use.get());
    }
    for (mlir::Value v : op->getOperands()) {
      if (!is_made(v)) continue;
      mlir::Value& made = inside.made[v];
      if (!made) made = inside.builder.clone(*v.getDefiningOp())->getResult(0);
    }
    mlir::Operation* copy = inside.builder.clone(*op, inside.map);
    for (auto [v, operand] : llvm::zip(op->getOperands(), copy->getOpOperands()))
      if (is_made(v)) operand.set(inside.made.lookup(v));
  }

  /// Brings `v` into a kernel: views are cloned, buffers become arguments.
  void bring_in(Inside& inside, mlir::Block& block, mlir::Value v) {
    if (inside.map.contains(v)) return;
    mlir::Operation* op = v.getDefiningOp();
    if (!op || !ir::is_view_op(op) || view_analysis_.is_buffer(op)) return bring_in_buffer(inside, block, v);
    bring_in(inside, block, op->getOperand(0));
    inside.builder.clone(*op, inside.map);
  }

  void bring_in_buffer(Inside& inside, mlir::Block& block, mlir::Value v) {
    mlir::Value outer = buffer(v);
    for (auto [i, known] : llvm::enumerate(inside.operands))
      if (known == outer) return inside.map.map(v, block.getArgument(static_cast<unsigned>(i)));
    inside.operands.push_back(outer);
    inside.map.map(v, block.addArgument(outer.getType(), v.getLoc()));
  }

  mlir::OpBuilder builder_;
  const ViewAnalysis& view_analysis_;
  const llvm::DenseSet<mlir::Operation*>& prepackable_;
  mlir::Operation* terminator_;
  mlir::IRMapping buffers_;
};

class Fuse final : public mlir::PassWrapper<Fuse, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fuse)
  Fuse(const TargetModel& target, bool fuse) : target_(target) { fuse_ = fuse; }
  Fuse(const Fuse& other) : PassWrapper(other), target_(other.target_) {}
  llvm::StringRef getArgument() const override { return "kiln-fuse"; }
  llvm::StringRef getDescription() const override { return "Form kernels"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    mlir::Block& block = getOperation().front();
    erase_dead(block);
    ViewAnalysis view_analysis(block, fuse_);
    const auto prepackable = find_prepackable(block, view_analysis, target_);
    std::vector<FusionGroup> groups = form_groups(block, view_analysis, prepackable, target_, fuse_);
    llvm::SmallVector<mlir::Operation*> old;
    for (mlir::Operation& op : block.without_terminator()) old.push_back(&op);
    Emitter emitter(block, view_analysis, prepackable);
    for (const FusionGroup& group : groups) emitter.emit(group);
    for (mlir::Operation* op : llvm::reverse(old)) op->erase();
  }

 private:
  const TargetModel& target_;
  Option<bool> fuse_{*this, "fuse", llvm::cl::desc("false: a kernel for each operation"),
                     llvm::cl::init(true)};
};

}  // namespace

std::unique_ptr<mlir::Pass> create_fuse_pass(const TargetModel& target, bool fuse) {
  return std::make_unique<Fuse>(target, fuse);
}

}  // namespace kiln::passes
