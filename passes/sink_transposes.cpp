// Moves transposes after their users, and before reductions.
#include "passes/sink_transposes.h"

#include "ir/dialect.h"
#include "ir/stages.h"
#include "passes/convolution_layout.h"
#include "passes/permute_axes.h"
#include "passes/sweep.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Utils/IndexingUtils.h>
#include <mlir/IR/IRMapping.h>

namespace kiln::passes {
namespace {

using Dims = llvm::SmallVector<std::int64_t>;
using Permutation = llvm::ArrayRef<std::int64_t>;
using mlir::applyPermutation;

mlir::RankedTensorType type_in(mlir::Value v, Permutation order) {
  auto type = ir::ranked(v);
  return mlir::RankedTensorType::get(applyPermutation(type.getShape(), order), type.getElementType());
}

/// The transpose that computes v, if it moves the channels to the second axis.
ir::TransposeOp channels_first(mlir::Value v) {
  auto transpose = v.getDefiningOp<ir::TransposeOp>();
  if (!transpose) return {};
  Permutation order = transpose.getPermutation();
  if (order.size() < 3 || order != Permutation(channels_first_order(static_cast<std::int64_t>(order.size()))))
    return {};
  return transpose;
}

class SinkTransposes final
    : public mlir::PassWrapper<SinkTransposes, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SinkTransposes)
  explicit SinkTransposes(const TargetModel& target) : target_(target) {}
  llvm::StringRef getArgument() const override { return "kiln-sink-transposes"; }
  llvm::StringRef getDescription() const override { return "Move transposes after other operations"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(), [&](mlir::Block& block) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block.without_terminator())) sink(&op);
    });
    for_each_block(getOperation(), erase_dead);  // lift() counts users
    for_each_block(getOperation(), [&](mlir::Block& block) {
      for (ir::ReduceOp reduce : block.getOps<ir::ReduceOp>()) lift(reduce);
    });
    for_each_block(getOperation(), erase_dead);
  }

 private:
  void sink(mlir::Operation* op) const {
    if (auto transpose = llvm::dyn_cast<ir::TransposeOp>(op)) return compose(transpose);
    if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op)) return sink_repeats(broadcast);
    if (auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op)) return sink_split(reshape);
    if (!ir::is_pointwise(op) && !ir::is_per_axis(op) && !llvm::isa<ir::ConcatenateOp>(op)) return;
    // If more operands have the other order, the transposes stay before the operation.
    std::size_t moved = 0, in_memory = 0;
    ir::TransposeOp model;
    for (mlir::Value v : op->getOperands()) {
      if (auto transpose = channels_first(v)) {
        ++moved;
        model = transpose;
      } else if (!is_free(v)) {
        ++in_memory;
      }
    }
    if (!model || moved < in_memory) return;
    const Dims order(model.getPermutation()), back = mlir::invertPermutationVector(order);

    mlir::OpBuilder builder(op);
    mlir::IRMapping map;
    for (mlir::Value v : op->getOperands()) map.map(v, in_order(builder, v, order, back));
    mlir::Value old = op->getResult(0), result = clone_with_axes(builder, op, map, back)->getResult(0);
    auto restored = ir::TransposeOp::create(builder, op->getLoc(), old.getType(), result, order);
    old.replaceAllUsesWith(restored.getResult());
    op->erase();
  }

  /// `op` is the transpose of `value` to channels first.
  static void replace_by_channels_first(mlir::OpBuilder& builder, mlir::Operation* op, mlir::Value value) {
    auto restored = ir::TransposeOp::create(builder, op->getLoc(), op->getResult(0).getType(), value,
                                            channels_first_order(ir::ranked(value).getRank()));
    op->getResult(0).replaceAllUsesWith(restored.getResult());
    op->erase();
  }

  /// A broadcast that keeps batch and channels and adds spatial axes: each element of an image repeated.
  /// With channels too few for a vector its elements are better written in lines of the image.
  void sink_repeats(ir::BroadcastOp op) const {
    auto transpose = channels_first(op.getX());
    const Permutation dims = op.getDims();
    if (!transpose || dims[0] != 0 || dims[1] != 1) return;
    if (op.getType().getDimSize(1) < target_.vector_length(op.getType().getElementTypeBitWidth())) return;
    const mlir::RankedTensorType type = type_in(op.getResult(), channels_last_order(op.getType().getRank()));
    Dims moved{0};
    for (std::int64_t dim : dims.drop_front(2)) moved.push_back(dim - 1);
    moved.push_back(type.getRank() - 1);
    mlir::OpBuilder builder(op);
    replace_by_channels_first(builder, op,
                              ir::BroadcastOp::create(builder, op.getLoc(), type, transpose.getX(), moved));
  }

  /// A reshape that splits or joins spatial axes, and leaves batch and channels as they are.
  static void sink_split(ir::ReshapeOp op) {
    auto transpose = channels_first(op.getX());
    const auto from = ir::ranked(op.getX()).getShape(), to = op.getType().getShape();
    if (!transpose || to.size() < 3 || from.take_front(2) != to.take_front(2)) return;
    mlir::OpBuilder builder(op);
    const mlir::RankedTensorType type = type_in(op.getResult(), channels_last_order(op.getType().getRank()));
    replace_by_channels_first(builder, op,
                              ir::ReshapeOp::create(builder, op.getLoc(), type, transpose.getX()));
  }

  /// Operations that are computed in another order of axes.
  struct Lifted {
    Permutation order, axes;  // of reductions of the transpose
    llvm::SmallPtrSet<mlir::Operation*, 16> ops;
    mlir::Value copied;  // the only array, if any, whose reduced axes do not collapse into one; its transpose
                         // is a copy
  };

  /// Moves a transpose before the producers that only reductions use. They are then computed in the order of
  /// the operand's axes, within the reduction's kernel, instead of being read from memory.
  static void lift(ir::ReduceOp op) {
    auto transpose = op.getX().getDefiningOp<ir::TransposeOp>();
    if (!transpose) return;
    Lifted all{transpose.getPermutation(), op.getAxes(), {}, {}};
    if (collect(transpose.getX(), all)) op.getXMutable().assign(lifted(transpose.getX(), transpose, all.ops));
  }

  /// Collects the producers of `v` that only such reductions use, while the reduced axes collapse into one in
  /// every operand. One operand may be an exception, copied for several reductions, which would otherwise
  /// copy `v`. False if `v` has no such producers.
  static bool collect(mlir::Value v, Lifted& all) {
    constexpr std::size_t most = 16;
    mlir::Operation* op = v.getDefiningOp();
    if (!op || !ir::is_pointwise(op) || all.ops.size() == most) return false;
    const bool first = all.ops.empty(), many = !op->hasOneUse();
    if (many && !(first && llvm::all_of(op->getUsers(),
                                        [&](mlir::Operation* user) { return is_reduced_alike(user, all); })))
      return false;
    const auto is_copied = [&](mlir::Value operand) {
      if (!all.copied && many) all.copied = operand;
      return all.copied == operand;
    };
    all.ops.insert(op);
    if (llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
          return collect(operand, all) || joins(operand, all.order, all.axes) || is_copied(operand);
        }))
      return true;
    all.ops.erase(op);
    return false;
  }

  /// Whether `op` is a transpose in the order of `all` that only reductions over the same axes use.
  static bool is_reduced_alike(mlir::Operation* op, const Lifted& all) {
    auto transpose = llvm::dyn_cast<ir::TransposeOp>(op);
    return transpose && transpose.getPermutation() == all.order &&
           llvm::all_of(op->getUsers(), [&](mlir::Operation* user) {
             auto reduce = llvm::dyn_cast<ir::ReduceOp>(user);
             return reduce && reduce.getAxes() == all.axes;
           });
  }

  /// Whether `axes` are one axis of the transpose of `v` in `order`.
  static bool joins(mlir::Value v, Permutation order, Permutation axes) {
    if (ir::splat_of(v)) return true;
    if (auto transpose = v.getDefiningOp<ir::TransposeOp>())
      return joins(transpose.getX(), applyPermutation(transpose.getPermutation(), order), axes);
    const auto axis_of = [&](std::int64_t axis) { return order[static_cast<std::size_t>(axis)]; };
    if (auto broadcast = v.getDefiningOp<ir::BroadcastOp>()) {
      const auto from = ir::ranked(broadcast.getX()).getShape();
      return llvm::all_of(llvm::zip(broadcast.getDims(), from), [&](auto dim) {
        const auto [to, extent] = dim;
        return extent == 1 || llvm::none_of(axes, [&](std::int64_t axis) { return axis_of(axis) == to; });
      });
    }
    if (v.getDefiningOp() && ir::is_view_op(v.getDefiningOp())) return false;
    return llvm::all_of(llvm::zip(axes.drop_back(), axes.drop_front()), [&](auto pair) {
      return axis_of(std::get<1>(pair)) == axis_of(std::get<0>(pair)) + 1;
    });
  }

  /// The transpose of `v` as `model` transposes, computed by clones of `ops`.
  static mlir::Value lifted(mlir::Value v, ir::TransposeOp model,
                            const llvm::SmallPtrSetImpl<mlir::Operation*>& ops) {
    const Dims order(model.getPermutation()), back = mlir::invertPermutationVector(order);
    mlir::OpBuilder builder(model);
    mlir::Operation* op = v.getDefiningOp();
    if (!ops.contains(op)) return in_order(builder, v, back, order);
    mlir::IRMapping map;
    for (mlir::Value operand : op->getOperands()) map.map(operand, lifted(operand, model, ops));
    builder.setInsertionPoint(model);
    mlir::Operation* clone = builder.clone(*op, map);
    clone->getResult(0).setType(type_in(v, order));
    return clone->getResult(0);
  }

  /// A broadcast or a splat: free in any order of axes.
  static bool is_free(mlir::Value v) { return v.getDefiningOp<ir::BroadcastOp>() || ir::splat_of(v); }

  /// The value whose transpose in `order` is `v`; `back` is the inverse.
  static mlir::Value in_order(mlir::OpBuilder& builder, mlir::Value v, Permutation order, Permutation back) {
    auto transpose = v.getDefiningOp<ir::TransposeOp>();
    if (transpose && transpose.getPermutation() == order) return transpose.getX();
    const mlir::RankedTensorType type = type_in(v, back);
    if (auto splat = ir::splat_of(v))
      return ir::ConstantOp::create(builder, v.getLoc(), type, splat.resizeSplat(type));
    if (auto broadcast = v.getDefiningOp<ir::BroadcastOp>()) {
      Dims dims;
      for (std::int64_t dim : broadcast.getDims()) dims.push_back(order[static_cast<std::size_t>(dim)]);
      if (llvm::is_sorted(dims))
        return ir::BroadcastOp::create(builder, v.getLoc(), type, broadcast.getX(), dims);
    }
    return ir::TransposeOp::create(builder, v.getLoc(), type, v, back);
  }

  static void compose(ir::TransposeOp op) {
    auto inner = op.getX().getDefiningOp<ir::TransposeOp>();
    if (!inner) return;
    const Dims order = applyPermutation(inner.getPermutation(), op.getPermutation());
    mlir::Value value = inner.getX();
    if (!mlir::isIdentityPermutation(order)) {
      mlir::OpBuilder builder(op);
      value = ir::TransposeOp::create(builder, op.getLoc(), op.getType(), value, order);
    }
    op.replaceAllUsesWith(value);
    op.erase();
  }

  const TargetModel& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_sink_transposes_pass(const TargetModel& target) {
  return std::make_unique<SinkTransposes>(target);
}

}  // namespace kiln::passes
