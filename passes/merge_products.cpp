// Finds contractions of row ranges with the same B and merges them.
#include "passes/merge_products.h"

#include "ir/dialect.h"
#include "ir/views.h"
#include "passes/sweep.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <set>
#include <vector>

namespace kiln::passes {
namespace {

/// A contraction whose A is rows [first, first + count) of an array, divided into rows of k elements.
struct RowRange {
  ir::DotOp dot;
  std::int64_t first, count;
};

/// Returns the array that contains A as a contiguous range of rows, and sets `part`. Null if there is none,
/// or if A has more than `max_rows` rows.
mlir::Value row_range(ir::DotOp dot, std::int64_t max_rows, RowRange& part) {
  if (ir::is_on_tensor_cores(dot)) return {};
  if (dot.getTransposeLhs() || ir::ranked(dot.getLhs()).getRank() != 2) return {};
  const ir::View view = ir::view_of(dot.getLhs());
  const std::int64_t m = view.shape[0], k = view.shape[1];
  if (view.base == dot.getLhs() || m == 0 || m > max_rows || k == 0) return {};
  if ((k > 1 && view.strides[1] != 1) || (m > 1 && view.strides[0] != k)) return {};
  if (view.offset % k != 0 || ir::ranked(view.base).getNumElements() % k != 0) return {};
  part = {dot, view.offset / k, m};
  return view.base;
}

/// Whether the parts are disjoint and cover at least three quarters of the array's rows: the merged
/// contraction computes all rows.
bool covers(llvm::ArrayRef<RowRange> parts, std::int64_t rows) {
  llvm::SmallVector<RowRange> sorted(parts);
  llvm::sort(sorted, [](const RowRange& a, const RowRange& b) { return a.first < b.first; });
  std::int64_t end = 0, covered = 0;
  for (const RowRange& p : sorted) {
    if (p.first < end) return false;
    end = p.first + p.count;
    covered += p.count;
  }
  return 4 * covered >= 3 * rows;
}

/// Replaces the parts by slices of one contraction and returns the slices. Returns nothing, and changes
/// nothing, if there is only one part or the parts do not cover the array.
llvm::SmallVector<mlir::Value> merge(mlir::Value array, llvm::ArrayRef<RowRange> parts) {
  ir::DotOp first = parts.front().dot;
  const std::int64_t k = ir::ranked(first.getLhs()).getDimSize(1),
                     n = ir::ranked(first.getResult()).getDimSize(1);
  const std::int64_t rows = ir::ranked(array).getNumElements() / k;
  if (parts.size() < 2 || !covers(parts, rows)) return {};

  mlir::OpBuilder builder(first);
  const mlir::Type lhs_element = ir::ranked(array).getElementType(),
                   element = ir::ranked(first.getResult()).getElementType();
  llvm::SmallVector<mlir::Location> locations;
  for (RowRange p : parts) locations.push_back(p.dot.getLoc());
  const mlir::Location loc = mlir::FusedLoc::get(builder.getContext(), locations);
  mlir::Value lhs = array;
  auto type = mlir::RankedTensorType::get({rows, k}, lhs_element);
  if (array.getType() != type) lhs = ir::ReshapeOp::create(builder, loc, type, array);
  auto merged =
      ir::DotOp::create(builder, loc, mlir::RankedTensorType::get({rows, n}, element), lhs, first.getRhs(),
                        first.getAlgorithm(), /*transpose_lhs=*/false, first.getTransposeRhs());
  llvm::SmallVector<mlir::Value> results;
  for (RowRange p : parts) {
    const std::int64_t start[] = {p.first, 0}, limit[] = {p.first + p.count, n}, step[] = {1, 1};
    mlir::OpBuilder at_part(p.dot);
    mlir::Value slice =
        ir::SliceOp::create(at_part, p.dot.getLoc(), p.dot.getType(), merged, start, limit, step);
    mlir::Operation* old = p.dot;
    old->getResult(0).replaceAllUsesWith(slice);
    old->erase();
    results.push_back(slice);
  }
  return results;
}

/// One sweep over the contractions of a block. A merge changes operands of later contractions only, through
/// the slices. So the sweep reaches each contraction when its operands are final; groups are visited in
/// program order of their first members.
class Merger {
 public:
  Merger(mlir::Block& block, std::int64_t max_rows) : max_rows_(max_rows) {
    llvm::append_range(dots_, block.getOps<ir::DotOp>());
    keys_.resize(dots_.size());
    for (auto [i, dot] : llvm::enumerate(dots_)) {
      index_[dot] = i;
      classify(i);
    }
  }

  void run() {
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      const auto group = groups_.find(keys_[i]);
      if (!dots_[i] || group == groups_.end()) continue;
      const Group members = std::move(group->second);
      groups_.erase(group);
      merge_group(members);
    }
  }

 private:
  using Key = std::pair<std::pair<mlir::Value, mlir::Value>, unsigned>;  // ((array, B), transpose_rhs)
  using Group = std::set<std::size_t>;

  void classify(std::size_t i) {
    RowRange part;
    const mlir::Value array = row_range(dots_[i], max_rows_, part);
    if (const auto old = groups_.find(keys_[i]); old != groups_.end()) old->second.erase(i);
    keys_[i] = {{array, dots_[i].getRhs()}, unsigned{dots_[i].getTransposeRhs()}};
    if (array) groups_[keys_[i]].insert(i);
  }

  void merge_group(const Group& members) {
    mlir::Value array;
    llvm::SmallVector<RowRange> parts;
    for (std::size_t i : members) array = row_range(dots_[i], max_rows_, parts.emplace_back());
    llvm::SmallVector<mlir::Value> changed = merge(array, parts);  // and views of them
    if (changed.empty()) return;
    for (std::size_t i : members) {
      index_.erase(dots_[i]);
      dots_[i] = {};
    }
    while (!changed.empty())
      for (mlir::Operation* user : changed.pop_back_val().getUsers()) {
        if (ir::is_view_op(user)) changed.push_back(user->getResult(0));
        if (const auto dot = index_.find(user); dot != index_.end()) classify(dot->second);
      }
  }

  std::int64_t max_rows_;
  std::vector<ir::DotOp> dots_;  // null when merged
  std::vector<Key> keys_;
  llvm::DenseMap<mlir::Operation*, std::size_t> index_;
  llvm::DenseMap<Key, Group> groups_;
};

class MergeProducts final : public mlir::PassWrapper<MergeProducts, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MergeProducts)
  explicit MergeProducts(const TargetModel& target) : target_(target) {}
  llvm::StringRef getArgument() const override { return "kiln-merge-products"; }
  llvm::StringRef getDescription() const override { return "Merge contractions that have the same B"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(),
                   [&](mlir::Block& block) { Merger(block, target_.max_merged_rows()).run(); });
    for_each_block(getOperation(), erase_dead);
  }

 private:
  const TargetModel& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_merge_products_pass(const TargetModel& target) {
  return std::make_unique<MergeProducts>(target);
}

}  // namespace kiln::passes
