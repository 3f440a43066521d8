#include "passes/merge_products.h"

#include "ir/dialect.h"
#include "ir/views.h"
#include "passes/sweep.h"

#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::passes {
namespace {

/// A product whose left operand is rows [first, first + count) of an array, seen as rows of k elements.
struct Part {
  ir::DotOp dot;
  std::int64_t first, count;
};

/// The array that the left operand's rows lie in one after the other, and where; null where they do not.
mlir::Value rows_of(ir::DotOp dot, std::int64_t most_rows, Part& part) {
  if (dot.getAlgorithm() != ir::Algorithm::chained512) return {};
  if (dot.getTransposeLhs() || ir::ranked(dot.getLhs()).getRank() != 2) return {};
  const ir::View view = ir::view_of(dot.getLhs());
  const std::int64_t m = view.shape[0], k = view.shape[1];
  if (view.base == dot.getLhs() || m == 0 || m > most_rows || k == 0) return {};
  if ((k > 1 && view.strides[1] != 1) || (m > 1 && view.strides[0] != k)) return {};
  if (view.offset % k != 0 || ir::ranked(view.base).getNumElements() % k != 0) return {};
  part = {dot, view.offset / k, m};
  return view.base;
}

/// Whether the parts are most of the array's rows, none of them twice.
bool covers(llvm::ArrayRef<Part> parts, std::int64_t rows) {
  llvm::SmallVector<Part> sorted(parts);
  llvm::sort(sorted, [](const Part& a, const Part& b) { return a.first < b.first; });
  std::int64_t end = 0, covered = 0;
  for (const Part& p : sorted) {
    if (p.first < end) return false;
    end = p.first + p.count;
    covered += p.count;
  }
  return 4 * covered >= 3 * rows;
}

/// False where the parts stay as they are.
bool merge(mlir::Value array, llvm::ArrayRef<Part> parts) {
  ir::DotOp first = parts.front().dot;
  const std::int64_t k = ir::ranked(first.getLhs()).getDimSize(1),
                     n = ir::ranked(first.getResult()).getDimSize(1);
  const std::int64_t rows = ir::ranked(array).getNumElements() / k;
  if (parts.size() < 2 || !covers(parts, rows)) return false;

  mlir::OpBuilder builder(first);
  const mlir::Type element = ir::ranked(array).getElementType();
  llvm::SmallVector<mlir::Location> locations;
  for (Part p : parts) locations.push_back(p.dot.getLoc());
  const mlir::Location loc = mlir::FusedLoc::get(builder.getContext(), locations);
  mlir::Value all = array;
  auto type = mlir::RankedTensorType::get({rows, k}, element);
  if (array.getType() != type) all = ir::ReshapeOp::create(builder, loc, type, array);
  auto product =
      ir::DotOp::create(builder, loc, mlir::RankedTensorType::get({rows, n}, element), all, first.getRhs(),
                        ir::Algorithm::chained512, /*transpose_lhs=*/false, first.getTransposeRhs());
  for (Part p : parts) {
    const std::int64_t start[] = {p.first, 0}, limit[] = {p.first + p.count, n}, step[] = {1, 1};
    mlir::OpBuilder at(p.dot);
    mlir::Value own = ir::SliceOp::create(at, p.dot.getLoc(), p.dot.getType(), product, start, limit, step);
    mlir::Operation* old = p.dot;
    old->getResult(0).replaceAllUsesWith(own);
    old->erase();
  }
  return true;
}

class MergeProducts final : public mlir::PassWrapper<MergeProducts, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MergeProducts)
  explicit MergeProducts(const TargetModel& target) : target_(target) {}
  llvm::StringRef getArgument() const override { return "kiln-merge-products"; }
  llvm::StringRef getDescription() const override {
    return "Make one product of several with the same weights";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(), [&](mlir::Block& block) {
      while (merge_one(block)) {
      }
    });
    for_each_block(getOperation(), erase_dead);
  }

 private:
  /// One at a time: what is merged may have been the array or the right operand of others.
  bool merge_one(mlir::Block& block) const {
    // By array, right operand and how it is read.
    using Key = std::pair<std::pair<mlir::Value, mlir::Value>, unsigned>;
    llvm::MapVector<Key, llvm::SmallVector<Part>> groups;
    for (auto dot : block.getOps<ir::DotOp>()) {
      Part part;
      if (mlir::Value array = rows_of(dot, target_.max_merged_rows(), part))
        groups[{{array, dot.getRhs()}, unsigned{dot.getTransposeRhs()}}].push_back(part);
    }
    return llvm::any_of(groups, [](auto& group) { return merge(group.first.first.first, group.second); });
  }

  const TargetModel& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_merge_products_pass(const TargetModel& target) {
  return std::make_unique<MergeProducts>(target);
}

}  // namespace kiln::passes
