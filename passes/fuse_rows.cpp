// Finds runs of kernels that can work on a few rows at a time, and marks them.
#include "passes/fuse_rows.h"

#include "ir/dialect.h"
#include "ir/prepacked.h"
#include "ir/views.h"

#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::passes {
namespace {

using Shape = llvm::ArrayRef<std::int64_t>;

// A row fusion's limits.
constexpr std::size_t max_kernels = 64, max_operations = 512;

Shape common_prefix(Shape a, Shape b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return a.take_front(n);
}

bool begins_with(Shape shape, Shape prefix) {
  return shape.size() >= prefix.size() && shape.take_front(prefix.size()) == prefix;
}

/// Whether the kernel's loops can be split along leading axes.
bool is_row_kernel(ir::FusionOp fusion) {
  return llvm::all_of(fusion.getBody().front(), [](mlir::Operation& op) {
    return ir::is_pointwise(&op) || ir::is_view_op(&op) ||
           llvm::isa<ir::ReduceOp, ir::ConstantOp, ir::IotaOp, ir::YieldOp>(op);
  });
}

/// Whether element (row, ...) of an iteration space whose leading extents are `rows` reads only the same row
/// of `v`, a view of a fusion's argument.
bool stays_in_row(mlir::Value v, Shape rows) {
  const ir::View view = ir::view_of(v);
  const Shape base = ir::ranked(view.base).getShape();
  if (view.offset < 0 || !begins_with(view.shape, rows) || !begins_with(base, rows)) return false;
  const std::int64_t row_elements = mlir::ShapedType::getNumElements(base.drop_front(rows.size()));
  std::int64_t step = row_elements, last = view.offset;  // of row 0
  for (std::size_t i = rows.size(); i-- > 0; step *= rows[i])
    if (rows[i] > 1 && view.strides[i] != step) return false;
  for (std::size_t i = rows.size(); i < view.shape.size(); ++i) {
    if (view.strides[i] < 0) return false;
    last += (view.shape[i] - 1) * view.strides[i];
  }
  return last < row_elements;
}

/// Whether the fusion reduces across memory rows, so that contiguous elements belong to different rows, as in
/// sums over an image with the channels last. Row by row, each cache line would be read once for each of its
/// elements.
bool reduces_columns(ir::FusionOp fusion, Shape rows) {
  for (mlir::Operation& op : fusion.getBody().front()) {
    auto reduce = llvm::dyn_cast<ir::ReduceOp>(op);
    if (!reduce) continue;
    const Shape shape = ir::ranked(reduce.getX()).getShape();
    for (mlir::Operation& reader : fusion.getBody().front())
      for (mlir::Value v : reader.getOperands()) {
        if (ir::is_view_op(&reader) || ir::ranked(v).getShape() != shape) continue;
        const ir::View view = ir::view_of(v);
        const auto reads = [&](std::size_t axis) { return shape[axis] > 1 && view.strides[axis] != 0; };
        bool several = false;  // elements of a row
        for (std::size_t axis = rows.size(); axis < shape.size(); ++axis) several = several || reads(axis);
        for (std::size_t axis = 0; several && axis < rows.size(); ++axis)
          if (reads(axis) && view.strides[axis] == 1) return true;
      }
  }
  return false;
}

bool used_in_row(mlir::Value v, Shape rows) {
  return llvm::all_of(v.getUsers(), [&](mlir::Operation* user) {
    return ir::is_view_op(user) ? used_in_row(user->getResult(0), rows) : stays_in_row(v, rows);
  });
}

class RowFusion {
 public:
  explicit RowFusion(ir::AliasRoots& roots) : roots_(&roots) {}

  /// Appends the kernel if all kernels then work row by row; false if not.
  bool take(ir::FusionOp fusion) {
    if (!is_row_kernel(fusion)) return false;
    const Shape shape = ir::ranked(fusion.getResult(0)).getShape();
    if (kernels_.empty()) {
      rows_.assign(shape.begin(), shape.end());
      add(fusion);
      return true;
    }
    if (kernels_.size() == max_kernels || operations_ + operations_of(fusion) > max_operations) return false;
    const Shape rows = common_prefix(rows_, shape);
    if (mlir::ShapedType::getNumElements(rows) < 2 || !reads_member(fusion)) return false;
    if (!works_by_row(fusion, rows)) return false;
    // Two or more kernels are known to work by `rows_`. Fewer common axes are checked for each kernel again.
    const bool known = kernels_.size() > 1 && rows.size() == rows_.size();
    if (!known && !llvm::all_of(kernels_, [&](ir::FusionOp f) { return works_by_row(f, rows); }))
      return false;
    add(fusion);
    rows_.truncate(rows.size());
    return true;
  }

  /// Marks the kernels if there are several and they read and write at least `min_bytes`; true if so.
  bool mark(std::int64_t number, std::int64_t min_bytes) {
    if (kernels_.size() < 2) return false;
    const std::int64_t rows = mlir::ShapedType::getNumElements(rows_);
    std::int64_t bytes = 0, bytes_of_next_rows = 0;
    llvm::SmallDenseSet<mlir::Value> read, prefetched, overwritten;
    llvm::SmallVector<llvm::SmallVector<std::int64_t>> next_rows;
    for (ir::FusionOp f : kernels_) {
      next_rows.emplace_back();
      for (auto [i, v] : llvm::enumerate(f.getOperands())) {
        const mlir::Value memory = roots_->of(v);
        if (!read.contains(memory) || !used_in_row(f.getBody().getArgument(i), rows_) ||
            !prefetched.insert(memory).second)
          continue;
        const std::int64_t row_bytes = ir::bytes_of(v) / rows;
        next_rows.back().append({static_cast<std::int64_t>(i), row_bytes});
        bytes_of_next_rows += row_bytes;
      }
      for (mlir::Value v : f.getOperands())
        if (const mlir::Value memory = roots_->of(v); !is_member(memory) && read.insert(memory).second)
          bytes += ir::bytes_of(memory);
      for (mlir::Value v : f.getResults())
        if (!overwrites_operand(f, v, overwritten)) bytes += ir::bytes_of(v);
    }
    if (bytes < min_bytes) return false;
    mlir::OpBuilder builder(kernels_.front());
    const std::int64_t row_bytes = llvm::divideCeilSigned(bytes, rows) + bytes_of_next_rows;
    for (auto [f, next] : llvm::zip(kernels_, next_rows)) {
      f->setAttr(row_fusion_attr, builder.getDenseI64ArrayAttr({number, rows, row_bytes}));
      if (!next.empty()) f->setAttr(next_rows_attr, builder.getDenseI64ArrayAttr(next));
    }
    return true;
  }

 private:
  static std::size_t operations_of(ir::FusionOp fusion) {
    return fusion.getBody().front().getOperations().size();
  }
  void add(ir::FusionOp fusion) {
    kernels_.push_back(fusion);
    operations_ += operations_of(fusion);
    members_.insert(fusion);
  }
  bool is_member(mlir::Value memory) const { return members_.contains(memory.getDefiningOp()); }
  bool reads_member(ir::FusionOp fusion) const {
    return llvm::any_of(fusion.getOperands(), [&](mlir::Value v) { return is_member(roots_->of(v)); });
  }
  /// Whether buffer assignment can place the result in a member's memory whose last reader is `fusion`. Adds
  /// that member's value to `overwritten`.
  bool overwrites_operand(ir::FusionOp fusion, mlir::Value result,
                          llvm::SmallDenseSet<mlir::Value>& overwritten) const {
    return llvm::any_of(fusion.getOperands(), [&](mlir::Value v) {
      return is_member(v) && ir::bytes_of(v) == ir::bytes_of(result) &&
             llvm::all_of(
                 v.getUsers(),
                 [&](mlir::Operation* user) { return user == fusion || user->isBeforeInBlock(fusion); }) &&
             overwritten.insert(v).second;
    });
  }
  bool works_by_row(ir::FusionOp fusion, Shape rows) const {
    for (mlir::Operation& op : fusion.getBody().front())
      if (auto reduce = llvm::dyn_cast<ir::ReduceOp>(op))
        if (llvm::any_of(reduce.getAxes(),
                         [&](std::int64_t axis) { return axis < static_cast<std::int64_t>(rows.size()); }))
          return false;
    if (reduces_columns(fusion, rows)) return false;
    for (auto [operand, argument] : llvm::zip(fusion.getOperands(), fusion.getBody().getArguments()))
      if (is_member(roots_->of(operand)) && !used_in_row(argument, rows)) return false;
    return true;
  }

  ir::AliasRoots* roots_;
  llvm::SmallVector<ir::FusionOp> kernels_;
  std::size_t operations_ = 0;
  llvm::SmallDenseSet<mlir::Operation*> members_;  // the kernels as a set
  llvm::SmallVector<std::int64_t, 6> rows_;
};

class FuseRows final : public mlir::PassWrapper<FuseRows, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseRows)
  explicit FuseRows(const TargetModel& target) : target_(target) {}
  llvm::StringRef getArgument() const override { return "kiln-fuse-rows"; }
  llvm::StringRef getDescription() const override { return "Fuse consecutive kernels row by row"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    std::int64_t number = 0;
    ir::AliasRoots roots;
    RowFusion candidate(roots);
    const auto end = [&] {
      number += candidate.mark(number, target_.min_row_fusion_bytes());
      candidate = RowFusion(roots);
    };
    for (mlir::Operation& op : getOperation().front()) {
      if (llvm::isa<ir::ReshapeOp, ir::ConstantOp, ir::EmptyOp>(op) || ir::is_prepacked(&op)) continue;
      auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
      if (fusion && candidate.take(fusion)) continue;
      end();
      if (fusion) candidate.take(fusion);
    }
    end();
  }

 private:
  const TargetModel& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_fuse_rows_pass(const TargetModel& target) {
  return std::make_unique<FuseRows>(target);
}

}  // namespace kiln::passes
