// The choice between strides and a copy for each view operation.
#include "passes/view_analysis.h"

#include <set>

namespace kiln::passes {

static bool is_depthwise_weights(mlir::Operation* op) {
  auto weights = llvm::dyn_cast<ir::WeightsProductOp>(op);
  return weights && weights.getDepthwise();
}

bool is_nullary(mlir::Operation* op) {
  auto constant = llvm::dyn_cast_if_present<ir::ConstantOp>(op);
  return llvm::isa_and_present<ir::IotaOp>(op) || (constant && ir::splat_of(constant));
}

bool takes_elements(mlir::Operation* op) { return ir::is_pointwise(op) || llvm::isa<ir::ReduceOp>(op); }

bool takes_view(mlir::OpOperand& use) {
  mlir::Operation* op = use.getOwner();
  if (auto pack = llvm::dyn_cast<ir::PackOp>(op)) return ir::packs_weights(pack);
  if (ir::is_product(op)) return use.getOperandNumber() == 0 || ir::is_on_tensor_cores(op);
  return takes_elements(op);
}

// An iota is generated for pointwise operations; a reduction of one reads it from memory.
bool rematerializes(mlir::Operation* user, mlir::Operation* op) {
  return is_nullary(op) &&
         (ir::is_pointwise(user) || (llvm::isa<ir::ReduceOp>(user) && llvm::isa<ir::ConstantOp>(op)));
}

ViewAnalysis::ViewAnalysis(mlir::Block& block, bool views) {
  if (!views)
    for (mlir::Operation& op : block)
      if (ir::is_view_op(&op) && !llvm::isa<ir::ReshapeOp>(op)) buffers_.insert(&op);
  cut_chains(block);

  std::vector<mlir::Operation*> ops;
  llvm::DenseMap<mlir::Operation*, std::size_t> index;
  std::set<std::size_t> stale, stale_next;  // indices of operations to visit in this and in the next sweep
  for (mlir::Operation& op : block) {
    stale.insert(stale.end(), ops.size());
    index[&op] = ops.size();
    ops.push_back(&op);
  }
  // A new buffer changes the strides of all views derived from it: the users of these views are visited
  // again.
  const auto visit_again = [&](mlir::Operation* buffer, std::size_t visited) {
    const auto mark = [&](mlir::Operation* op) {
      const std::size_t i = index.lookup(op);
      (i > visited ? stale : stale_next).insert(i);
    };
    mark(buffer);
    llvm::SmallVector<mlir::Operation*> changed{buffer};
    while (!changed.empty())
      for (mlir::Operation* user : changed.pop_back_val()->getUsers())
        if (ir::is_view_op(user) && !is_buffer(user))
          changed.push_back(user);
        else
          mark(user);
  };
  for (; !stale.empty(); stale.swap(stale_next))
    while (!stale.empty()) {
      const std::size_t i = stale.extract(stale.begin()).value();
      if (ir::is_view_op(ops[i]) && !is_buffer(ops[i])) continue;
      for (mlir::OpOperand& use : ops[i]->getOpOperands())
        if (mlir::Operation* buffer = buffer_for(use)) visit_again(buffer, i);
    }
}

void ViewAnalysis::cut_chains(mlir::Block& block) {
  llvm::DenseMap<mlir::Operation*, std::size_t> lengths;
  for (mlir::Operation& op : block) {
    if (!ir::is_view_op(&op) || is_buffer(&op)) continue;
    const std::size_t length = lengths.lookup(op.getOperand(0).getDefiningOp()) + 1;
    if (length < ir::max_view_chain)
      lengths[&op] = length;
    else
      buffers_.insert(&op);
  }
}

std::optional<ir::View> ViewAnalysis::try_view(mlir::Value v, mlir::Value& blocked) const {
  llvm::SmallVector<mlir::Operation*, 4> chain;  // the last operation first
  for (mlir::Operation* op = v.getDefiningOp(); op && ir::is_view_op(op) && !is_buffer(op);
       op = v.getDefiningOp()) {
    chain.push_back(op);
    v = op->getOperand(0);
  }
  std::optional<ir::View> view = ir::View::whole(v);
  for (mlir::Operation* op : llvm::reverse(chain)) {
    view = ir::apply_view_op(op, *view);
    if (view) continue;
    blocked = op->getOperand(0);
    break;
  }
  return view;
}

ir::View ViewAnalysis::view(mlir::Value v) const {
  mlir::Value blocked;
  auto view = try_view(v, blocked);
  return view ? *view : ir::View::whole(v);
}

/// Marks a view operation as a buffer if the use needs one. Returns the new buffer, or null.
mlir::Operation* ViewAnalysis::buffer_for(mlir::OpOperand& use) {
  const auto make_buffer = [&](mlir::Operation* op) { return buffers_.insert(op).second ? op : nullptr; };
  mlir::Value v = use.get();
  mlir::Operation *user = use.getOwner(), *op = v.getDefiningOp();
  if (!op || !ir::is_view_op(op) || is_buffer(op)) return nullptr;
  mlir::Value blocked;
  auto view = try_view(v, blocked);
  if (!view) return make_buffer(blocked.getDefiningOp());
  if (ir::is_pointwise(user)) return nullptr;
  // A copy reads its operand through a view. It was marked before the operand's chain led to its present
  // buffer, so strides that applied then may not apply now.
  if (ir::is_view_op(user)) return ir::apply_view_op(user, *view) ? nullptr : make_buffer(op);
  auto reduce = llvm::dyn_cast<ir::ReduceOp>(user);
  auto convolution = llvm::dyn_cast<ir::PackedConvolutionOp>(user);
  // These kernels vectorise along the last axis of the input, which therefore has stride 1.
  const bool vector_last_axis =
      llvm::isa<ir::WinogradOp, ir::DepthwiseOp, ir::ReduceWindowOp>(user) || is_depthwise_weights(user) ||
      (convolution && (ir::is_depthwise(convolution) || convolution.getChannelsFirst()));
  // A kernel of bytes, or of pairs, reads words along the last axis.
  const std::int64_t values =
      use.getOperandNumber() == 0 && llvm::isa<ir::PackedDotOp, ir::PackedConvolutionOp>(user)
          ? ir::values_of_word(v, user->getResult(0))
          : 1;
  bool fits = reduce             ? reduces_one_axis(reduce, v, *this)
              : !takes_view(use) ? view->is_contiguous()
              : values > 1       ? ir::is_of_words(*view, values)
                                 : !vector_last_axis || view->strides.back() == 1;
  return fits ? nullptr : make_buffer(op);
}

bool reduces_one_axis(ir::ReduceOp reduce, llvm::ArrayRef<mlir::Value> operands,
                      const ViewAnalysis& view_analysis) {
  auto shape = ir::ranked(reduce.getX()).getShape();
  llvm::SmallVector<std::int64_t> extents;
  for (std::int64_t axis : reduce.getAxes()) extents.push_back(shape[static_cast<std::size_t>(axis)]);
  llvm::SmallVector<llvm::SmallVector<std::int64_t, 6>> strides;
  for (mlir::Value v : operands) {
    if (rematerializes(reduce, v.getDefiningOp())) continue;
    auto& list = strides.emplace_back();
    if (auto iota = v.getDefiningOp<ir::IotaOp>()) {
      for (std::int64_t axis : reduce.getAxes())
        list.push_back(axis == static_cast<std::int64_t>(iota.getAxis()));
      continue;
    }
    const ir::View view = view_analysis.view(v);
    for (std::int64_t axis : reduce.getAxes()) list.push_back(view.strides[static_cast<std::size_t>(axis)]);
  }
  ir::collapse_axes(extents, strides);
  return extents.size() <= 1;
}

}  // namespace kiln::passes
