// Finds operations that are cheaper to compute twice than to store.
#include "passes/rematerialize.h"

#include "ir/views.h"

#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::passes {
namespace {

/// The operations that are looked at for one answer, which keeps the pass linear.
constexpr std::size_t max_search = 512;

/// Whether `v` is computed from `x`, as far as max_search operations tell.
bool depends_on(mlir::Value v, mlir::Value x) {
  llvm::SmallVector<mlir::Value> stack{v};
  llvm::SmallPtrSet<mlir::Operation*, 16> seen;
  while (!stack.empty() && seen.size() < max_search) {
    const mlir::Value next = stack.pop_back_val();
    if (next == x) return true;
    mlir::Operation* op = next.getDefiningOp();
    if (!op || !seen.insert(op).second) continue;
    // An operation before x cannot depend on x.
    if (x.getDefiningOp() && op->isBeforeInBlock(x.getDefiningOp())) continue;
    llvm::append_range(stack, op->getOperands());
  }
  return false;
}

/// The smaller array that `v` repeats, or null.
mlir::Value repeated(mlir::Value v) {
  mlir::Value base = v;
  mlir::Operation* op = v.getDefiningOp();
  for (std::size_t i = 0; i < ir::max_view_chain && op && ir::is_view_op(op); ++i, op = base.getDefiningOp())
    base = op->getOperand(0);
  return ir::ranked(base).getNumElements() < ir::ranked(v).getNumElements() ? base : mlir::Value();
}

/// x - f(x), x + f(x) or x * f(x), with f smaller than x.
bool is_from_statistic(mlir::Operation* op) {
  auto binary = llvm::dyn_cast<ir::BinaryOp>(op);
  if (!binary) return false;
  const auto kind = binary.getKind();
  if (kind != ir::Binary::add && kind != ir::Binary::sub && kind != ir::Binary::mul) return false;
  const auto is = [](mlir::Value x, mlir::Value other) {
    const mlir::Value statistic = repeated(other);
    const bool whole = !x.getDefiningOp() || !ir::is_view_op(x.getDefiningOp());
    return whole && statistic && depends_on(statistic, x);
  };
  return is(binary.getOperand(0), binary.getOperand(1)) || is(binary.getOperand(1), binary.getOperand(0));
}

bool reduces_rows(ir::ReduceOp reduce) {
  const auto axes = reduce.getAxes();
  const std::int64_t first = ir::ranked(reduce.getX()).getRank() - static_cast<std::int64_t>(axes.size());
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != first + static_cast<std::int64_t>(i)) return false;
  return true;
}

class Rematerialize final : public mlir::PassWrapper<Rematerialize, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Rematerialize)
  llvm::StringRef getArgument() const override { return "kiln-rematerialize"; }
  llvm::StringRef getDescription() const override {
    return "Rematerialize cheap values in each kernel that uses them";
  }
  void runOnOperation() override {
    mlir::Block& block = getOperation().front();
    const Ends ends = find_ends(block);
    for (mlir::Operation& op : llvm::make_early_inc_range(block))
      if (is_from_statistic(&op)) rematerialize(&op, ends);
  }

 private:
  /// For each operation the reduction of rows that all of its result goes into, through pointwise operations.
  using Ends = llvm::DenseMap<mlir::Operation*, mlir::Operation*>;

  static Ends find_ends(mlir::Block& block) {
    Ends ends;
    for (mlir::Operation& op : llvm::reverse(block)) {
      if (auto reduce = llvm::dyn_cast<ir::ReduceOp>(op)) {
        if (reduces_rows(reduce)) ends[&op] = &op;
      } else if (ir::is_pointwise(&op) && !op.use_empty()) {
        mlir::Operation* end = ends.lookup(*op.user_begin());
        if (end &&
            llvm::all_of(op.getUsers(), [&](mlir::Operation* user) { return ends.lookup(user) == end; }))
          ends[&op] = end;
      }
    }
    return ends;
  }

  static void rematerialize(mlir::Operation* op, const Ends& ends) {
    llvm::MapVector<mlir::Operation*, llvm::SmallVector<mlir::OpOperand*>> uses;  // by end
    for (mlir::OpOperand& use : op->getResult(0).getUses()) {
      mlir::Operation* user = use.getOwner();
      if (!ir::is_pointwise(user) && !llvm::isa<ir::ReduceOp>(user)) return;  // in memory anyway
      uses[ends.lookup(user)].push_back(&use);
    }
    if (uses.size() < 2) return;
    mlir::OpBuilder builder(op);
    for (auto& [end, of_end] : uses) {
      if (!end) continue;
      const mlir::Value copy = builder.clone(*op)->getResult(0);
      for (mlir::OpOperand* use : of_end) use->set(copy);
    }
    if (op->use_empty()) op->erase();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_rematerialize_pass() { return std::make_unique<Rematerialize>(); }

}  // namespace kiln::passes
