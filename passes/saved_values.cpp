#include "passes/saved_values.h"

#include "ir/views.h"
#include "passes/min_cut.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Transforms/RegionUtils.h>

namespace kiln::passes {
namespace {

/// The operands of an operation and what its bodies use from outside.
llvm::SetVector<mlir::Value> uses_of(mlir::Operation* op) {
  llvm::SetVector<mlir::Value> used(op->operand_begin(), op->operand_end());
  for (mlir::Region& body : op->getRegions()) mlir::getUsedValuesDefinedAbove(body, used);
  return used;
}

/// Pointwise operations that take more than a few cycles per element.
bool is_expensive(mlir::Operation* op) {
  if (auto unary = llvm::dyn_cast<ir::UnaryOp>(op)) {
    switch (unary.getKind()) {
      case ir::UnaryKind::neg:
      case ir::UnaryKind::abs:
      case ir::UnaryKind::sign:
      case ir::UnaryKind::ceil:
      case ir::UnaryKind::floor:
      case ir::UnaryKind::round:
      case ir::UnaryKind::rint:
      case ir::UnaryKind::trunc:
      case ir::UnaryKind::logical_not:
        return false;
      default:
        return true;
    }
  }
  if (auto binary = llvm::dyn_cast<ir::BinaryOp>(op)) {
    const ir::BinaryKind kind = binary.getKind();
    return kind == ir::BinaryKind::div || kind == ir::BinaryKind::mod || kind == ir::BinaryKind::pow ||
           kind == ir::BinaryKind::hypot;
  }
  return false;
}

bool draws(mlir::Operation* op) {
  return op->walk([](ir::RandomUniformOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

class Choice {
 public:
  Choice(mlir::func::FuncOp joint, Recompute policy) : block_(joint.getBody().front()), policy_(policy) {
    const auto counts = joint->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::joint_attr).asArrayRef();
    inputs_ = static_cast<unsigned>(counts[0]);
    outputs_ = static_cast<unsigned>(counts[1]);
    const auto writes = joint->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::writes_attr);
    writes_ = writes ? static_cast<unsigned>(writes.size()) : 0;
  }

  SavedValues run() {
    find_backward();
    find_forward();
    find_required();
    cut();
    return std::move(out_);
  }

 private:
  bool is_backward(mlir::Value v) const {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(v))
      return argument.getOwner() == &block_ && argument.getArgNumber() >= inputs_;
    return out_.backward.contains(v.getDefiningOp());
  }

  void find_backward() {
    for (mlir::Operation& op : block_.without_terminator())
      if (llvm::any_of(uses_of(&op), [&](mlir::Value v) { return is_backward(v); }))
        out_.backward.insert(&op);
  }

  void require_forward(mlir::Value v) {
    llvm::SmallVector<mlir::Value> todo{v};
    while (!todo.empty()) {
      mlir::Operation* op = todo.pop_back_val().getDefiningOp();
      if (!op || !out_.forward.insert(op).second) continue;
      const auto used = uses_of(op);
      todo.append(used.begin(), used.end());
    }
  }

  void find_forward() {
    mlir::Operation* terminator = block_.getTerminator();
    const unsigned results = terminator->getNumOperands();
    for (unsigned i = 0; i < results; ++i)
      if (i < outputs_ || i >= results - writes_) require_forward(terminator->getOperand(i));
    for (mlir::Value v : terminator->getOperands().take_front(outputs_))
      if (v.getDefiningOp()) free_.insert(v);
  }

  /// What the backward part reads of values that do not depend on a head.
  void find_required() {
    for (mlir::Operation& op : block_.without_terminator()) {
      if (!out_.backward.contains(&op)) continue;
      for (mlir::Value v : uses_of(&op))
        if (!is_backward(v))
          required_[v] = required_.lookup(v) || !(takes_elements(&op) || ir::is_view_op(&op));
    }
    mlir::Operation* terminator = block_.getTerminator();
    for (mlir::Value v : terminator->getOperands().drop_front(outputs_).drop_back(writes_))
      if (!is_backward(v)) required_[v] = true;
    // A view that is read whole needs its source in memory too. Users come after their operands.
    for (mlir::Operation& op : llvm::reverse(block_.without_terminator()))
      if (op.getNumResults() > 0 && required_.lookup(op.getResult(0)) && ir::is_view_op(&op))
        whole_.insert(op.getOperand(0));
      else if (op.getNumResults() > 0 && whole_.contains(op.getResult(0)) && ir::is_view_op(&op))
        whole_.insert(op.getOperand(0));
    for (const auto& [v, whole] : required_)
      if (whole) whole_.insert(v);
  }

  /// Why an operation is not repeated; empty: it may be.
  std::string refusal(mlir::Operation* op) const {
    if (is_nullary(op) || !out_.forward.contains(op)) return {};
    if (draws(op)) return "draws random numbers";
    if (ir::is_view_op(op) || llvm::isa<ir::CastOp>(op)) return {};
    if (policy_ == Recompute::none) return "nothing is recomputed";
    if (policy_ == Recompute::blocks) return ir::child_block_of(op) != 0 ? "" : "is in no child block";
    if (!ir::is_pointwise(op)) return op->getName().stripDialect().str() + " is never recomputed";
    if (policy_ == Recompute::all) return {};
    if (is_expensive(op)) return "costs more than to read it";
    if (llvm::any_of(op->getResults(), [&](mlir::Value r) { return whole_.contains(r); }))
      return "is read from memory";
    return {};
  }

  /// Whether the value leaves its child block, so that Recompute::blocks keeps it.
  bool leaves_block(mlir::Value v) const {
    mlir::Operation* op = v.getDefiningOp();
    if (!op || policy_ != Recompute::blocks) return false;
    const std::int64_t block = ir::child_block_of(op);
    return llvm::any_of(v.getUsers(), [&](mlir::Operation* user) {
      while (user->getBlock() != &block_) user = user->getParentOp();
      return out_.forward.contains(user) && ir::child_block_of(user) != block;
    });
  }

  /// Values from which the required ones can be computed, in the order of a depth-first walk.
  void find_cone() {
    llvm::SmallVector<mlir::Value> todo;
    for (const auto& [v, whole] : required_) todo.push_back(v);
    while (!todo.empty()) {
      mlir::Value v = todo.pop_back_val();
      if (!number_.insert({v, number_.size()}).second) continue;
      cone_.push_back(v);
      mlir::Operation* op = v.getDefiningOp();
      if (!op || !refusal(op).empty() || leaves_block(v)) continue;
      const auto used = uses_of(op);
      todo.append(used.begin(), used.end());
    }
  }

  void cut() {
    find_cone();
    // Vertices: value i is 2i where it is computed or saved, and 2i + 1 where it is there. Cutting between
    // them saves it.
    const std::size_t source = 2 * cone_.size(), sink = source + 1;
    MinCut graph(sink + 1);
    for (std::size_t i = 0; i < cone_.size(); ++i) {
      mlir::Value v = cone_[i];
      mlir::Operation* op = v.getDefiningOp();
      const bool free = !op || free_.contains(v);
      graph.add_edge(2 * i, 2 * i + 1, free ? 0 : ir::bytes_of(v));
      if (!op || !refusal(op).empty() || leaves_block(v)) {
        graph.add_edge(source, 2 * i, MinCut::unbounded);
      } else {
        for (mlir::Value operand : uses_of(op))
          graph.add_edge(2 * number_.lookup(operand) + 1, 2 * i, MinCut::unbounded);
      }
      if (required_.contains(v)) graph.add_edge(2 * i + 1, sink, MinCut::unbounded);
    }
    const std::vector<bool> after = graph.sink_side(source, sink);
    for (std::size_t i = 0; i < cone_.size(); ++i) {
      mlir::Value v = cone_[i];
      mlir::Operation* op = v.getDefiningOp();
      if (after[2 * i + 1] && !after[2 * i]) {
        if (!op || free_.contains(v)) {
          out_.kept.insert(v);
          continue;
        }
        std::string why = leaves_block(v) ? "leaves its child block" : refusal(op);
        out_.saved.insert({v, why.empty() ? "is smaller than what it is computed from" : why});
        require_forward(v);
      } else if (op && after[2 * i]) {
        out_.recomputed.insert(op);
      }
    }
  }

  mlir::Block& block_;
  Recompute policy_;
  unsigned inputs_ = 0, outputs_ = 0, writes_ = 0;
  SavedValues out_;
  llvm::DenseSet<mlir::Value> free_;                 // outputs of the graph
  llvm::MapVector<mlir::Value, bool> required_;      // and whether some operation reads it from memory
  llvm::DenseSet<mlir::Value> whole_;                // values that are read from memory, through views too
  llvm::DenseMap<mlir::Value, std::size_t> number_;  // in the cone
  std::vector<mlir::Value> cone_;
};

}  // namespace

SavedValues choose_saved_values(mlir::func::FuncOp joint, Recompute policy) {
  return Choice(joint, policy).run();
}

}  // namespace kiln::passes
