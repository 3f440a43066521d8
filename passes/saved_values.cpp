// The choice of saved values: a minimum cut over the bytes that the backward function reads.
#include "passes/saved_values.h"

#include "ir/views.h"
#include "passes/min_cut.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Transforms/RegionUtils.h>

namespace kiln::passes {
namespace {

/// Pointwise operations that take more than a few cycles per element.
bool is_expensive(mlir::Operation* op) {
  if (auto unary = llvm::dyn_cast<ir::UnaryOp>(op)) {
    switch (unary.getKind()) {
      case ir::Unary::neg:
      case ir::Unary::abs:
      case ir::Unary::sign:
      case ir::Unary::ceil:
      case ir::Unary::floor:
      case ir::Unary::round:
      case ir::Unary::rint:
      case ir::Unary::trunc:
      case ir::Unary::logical_not:
        return false;
      default:
        return true;
    }
  }
  if (auto binary = llvm::dyn_cast<ir::BinaryOp>(op)) {
    const ir::Binary kind = binary.getKind();
    return kind == ir::Binary::div || kind == ir::Binary::mod || kind == ir::Binary::pow ||
           kind == ir::Binary::hypot;
  }
  return false;
}

class Choice {
 public:
  Choice(const JointFunction& joint, Recompute policy) : joint_(joint), policy_(policy) {}

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
      return argument.getOwner() == &joint_.block && argument.getArgNumber() >= joint_.inputs;
    return out_.backward.contains(v.getDefiningOp());
  }

  void find_backward() {
    for (mlir::Operation& op : joint_.block.without_terminator())
      if (llvm::any_of(used_values(&op), [&](mlir::Value v) { return is_backward(v); }))
        out_.backward.insert(&op);
  }

  void require_forward(mlir::Value v) {
    llvm::SmallVector<mlir::Value> todo{v};
    while (!todo.empty()) {
      mlir::Operation* op = todo.pop_back_val().getDefiningOp();
      if (!op || !out_.forward.insert(op).second) continue;
      const auto used = used_values(op);
      todo.append(used.begin(), used.end());
    }
  }

  void find_forward() {
    for (mlir::Value v : joint_.outputs) {
      require_forward(v);
      if (v.getDefiningOp()) free_.insert(v);
    }
    for (mlir::Value v : joint_.writes) require_forward(v);
  }

  /// Values that the backward part reads and that do not depend on a head.
  void find_required() {
    for (mlir::Operation& op : joint_.block.without_terminator()) {
      if (!out_.backward.contains(&op)) continue;
      for (mlir::Value v : used_values(&op))
        if (!is_backward(v))
          required_[v] = required_.lookup(v) || !(takes_elements(&op) || ir::is_view_op(&op));
    }
    for (mlir::Value v : joint_.sums)
      if (!is_backward(v)) required_[v] = true;
    // A view that is read whole needs its source in memory too. Users come after their operands.
    for (mlir::Operation& op : llvm::reverse(joint_.block.without_terminator()))
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
    if (draws_random(op)) return "draws random numbers";
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
      while (user->getBlock() != &joint_.block) user = user->getParentOp();
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
      const auto used = used_values(op);
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
        for (mlir::Value operand : used_values(op))
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

  const JointFunction& joint_;
  Recompute policy_;
  SavedValues out_;
  llvm::DenseSet<mlir::Value> free_;                 // outputs of the graph
  llvm::MapVector<mlir::Value, bool> required_;      // and whether some operation reads it from memory
  llvm::DenseSet<mlir::Value> whole_;                // values that are read from memory, through views too
  llvm::DenseMap<mlir::Value, std::size_t> number_;  // in the cone
  std::vector<mlir::Value> cone_;
};

}  // namespace

JointFunction::JointFunction(mlir::func::FuncOp f) : function(f), block(f.getBody().front()) {
  const auto counts = f->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::joint_attr).asArrayRef();
  const auto written = f->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::writes_attr);
  const mlir::ValueRange returned = block.getTerminator()->getOperands();
  const auto output_count = static_cast<std::size_t>(counts[1]);
  const std::size_t write_count = written ? static_cast<std::size_t>(written.size()) : 0;
  inputs = static_cast<unsigned>(counts[0]);
  outputs = returned.take_front(output_count);
  sums = returned.drop_front(output_count).drop_back(write_count);
  writes = returned.take_back(write_count);
}

llvm::SetVector<mlir::Value> used_values(mlir::Operation* op) {
  llvm::SetVector<mlir::Value> used(op->operand_begin(), op->operand_end());
  for (mlir::Region& body : op->getRegions()) mlir::getUsedValuesDefinedAbove(body, used);
  return used;
}

bool draws_random(mlir::Operation* op) {
  return op->walk([](ir::RandomUniformOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

SavedValues choose_saved_values(const JointFunction& joint, Recompute policy) {
  return Choice(joint, policy).run();
}

}  // namespace kiln::passes
