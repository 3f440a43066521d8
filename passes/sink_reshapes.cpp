// Moves reshapes after their pointwise users.
#include "passes/sink_reshapes.h"

#include "ir/views.h"
#include "passes/sweep.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>

namespace kiln::passes {
namespace {

using Shape = llvm::ArrayRef<std::int64_t>;

/// Whether it is computed in a kernel and need not be in memory for the next operation.
bool is_computed(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  return op && (ir::is_pointwise(op) || ir::is_product(op) ||
                llvm::isa<ir::ReduceOp, ir::GatherOp, ir::RandomUniformOp>(op));
}

/// Whether the reshape would cost a kernel: its operand is computed, or it cannot be expressed as strides on
/// a buffer.
bool costs(ir::ReshapeOp reshape) {
  if (is_computed(reshape.getX())) return true;
  mlir::Operation* op = reshape.getX().getDefiningOp();
  return op && ir::is_view_op(op) && ir::view_of(reshape).base == reshape.getResult();
}

/// `v` with another shape if that costs nothing; else null.
mlir::Value under_shape(mlir::OpBuilder& builder, mlir::Value v, Shape shape) {
  if (auto reshape = v.getDefiningOp<ir::ReshapeOp>();
      reshape && ir::ranked(reshape.getX()).getShape() == shape)
    return reshape.getX();
  if (auto splat = ir::splat_of(v)) {
    auto value = splat.resizeSplat(ir::with_shape(v, shape));
    return ir::ConstantOp::create(builder, v.getLoc(), value.getType(), value);
  }
  ir::View view = ir::view_of(v);
  mlir::Operation* op = v.getDefiningOp();
  bool in_memory = !op || (ir::is_view_op(op) && view.base != v) ||
                   llvm::isa<ir::ConstantOp, ir::ConcatenateOp, ir::PadOp, ir::InsertOp>(op);
  if (!in_memory || view.base.getDefiningOp<ir::IotaOp>()) return {};
  auto reshape = ir::ReshapeOp::create(builder, v.getLoc(), ir::with_shape(v, shape), v);
  if (ir::apply_view_op(reshape, view)) return reshape;
  reshape.erase();
  return {};
}

/// Whether operations can be computed under `shape`, with all that they are computed from in their own shape.
class Sinkable {
  static constexpr std::size_t max_ops = 64;

 public:
  /// A value with this number of uses has max_ops users: a pointwise operation has at most three operands.
  static constexpr unsigned too_many_uses = 3 * max_ops;

  explicit Sinkable(Shape shape) : shape_(shape) {}

  bool operator()(mlir::Operation* op) {
    if (!ir::is_pointwise(op)) return false;
    auto [known, unseen] = known_.try_emplace(op, false);
    if (!unseen) return known->second;
    bool all = known_.size() < max_ops && llvm::all_of(op->getOperands(), [&](mlir::Value v) {
                 mlir::Operation* def = v.getDefiningOp();
                 return def && ir::is_pointwise(def) ? (*this)(def) : has_shape(op, v);
               });
    return known_[op] = all;
  }

 private:
  bool has_shape(mlir::Operation* op, mlir::Value v) const {
    mlir::OpBuilder builder(op);
    mlir::Value moved = under_shape(builder, v, shape_);
    if (!moved) return false;
    mlir::Operation* made = moved.getDefiningOp();
    if (made && made->getNextNode() == op && made->use_empty()) made->erase();
    return true;
  }

  llvm::SmallVector<std::int64_t, 6> shape_;
  llvm::DenseMap<mlir::Operation*, bool> known_;
};

/// A reshape among the operands of `op` that all its users can do without.
ir::ReshapeOp reshape_to_sink(mlir::Operation* op) {
  for (mlir::Value v : op->getOperands()) {
    auto reshape = v.getDefiningOp<ir::ReshapeOp>();
    if (!reshape || !costs(reshape) || reshape.getResult().hasNUsesOrMore(Sinkable::too_many_uses)) continue;
    Sinkable sinkable(ir::ranked(reshape.getX()).getShape());
    if (llvm::all_of(reshape->getUsers(), [&](mlir::Operation* user) { return sinkable(user); }))
      return reshape;
  }
  return {};
}

class SinkReshapes final : public mlir::PassWrapper<SinkReshapes, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SinkReshapes)
  llvm::StringRef getArgument() const override { return "kiln-sink-reshapes"; }
  llvm::StringRef getDescription() const override { return "Move reshapes after pointwise operations"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    mlir::Block& block = getOperation().front();
    for (mlir::Operation& op : llvm::make_early_inc_range(block.without_terminator()))
      if (ir::is_pointwise(&op)) sink(&op);
    erase_dead(block);
  }

 private:
  static void sink(mlir::Operation* op) {
    ir::ReshapeOp reshape = reshape_to_sink(op);
    if (!reshape) return;
    llvm::SmallVector<std::int64_t, 6> shape(ir::ranked(reshape.getX()).getShape());
    mlir::OpBuilder builder(op);
    mlir::IRMapping map;
    for (mlir::Value v : op->getOperands()) {
      if (map.contains(v)) continue;
      mlir::Value moved = v == reshape.getResult() ? reshape.getX() : under_shape(builder, v, shape);
      if (!moved) return;  // reshapes created for others are dead
      map.map(v, moved);
    }
    mlir::Operation* clone = builder.clone(*op, map);
    mlir::Value result = op->getResult(0);
    clone->getResult(0).setType(ir::with_shape(result, shape));
    auto back = ir::ReshapeOp::create(builder, op->getLoc(), result.getType(), clone->getResult(0));
    result.replaceAllUsesWith(back.getResult());
    op->erase();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_sink_reshapes_pass() { return std::make_unique<SinkReshapes>(); }

}  // namespace kiln::passes
