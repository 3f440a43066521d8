#include "passes/layout.h"

#include "ir/dialect.h"
#include "passes/sweep.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::passes {
namespace {

using Dims = llvm::SmallVector<std::int64_t, 6>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The operand of a transpose that swaps the last two axes and no others.
mlir::Value before_swap(mlir::Value v) {
  auto transpose = v.getDefiningOp<ir::TransposeOp>();
  if (!transpose) return {};
  llvm::ArrayRef<std::int64_t> p = transpose.getPermutation();
  std::size_t n = p.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t expected = i + 2 < n ? i : (i + 1 == n ? n - 2 : n - 1);
    if (p[i] != static_cast<std::int64_t>(expected)) return {};
  }
  return transpose.getX();
}

/// The operand of a reshape that only puts an extent of 1 in front of the kernel's axis: packed, both are the
/// same.
mlir::Value before_height(mlir::Value weights) {
  auto reshape = weights.getDefiningOp<ir::ReshapeOp>();
  if (!reshape) return weights;
  Dims from(ir::ranked(reshape.getX()).getShape()), to(ir::ranked(weights).getShape());
  if (from.size() + 1 != to.size() || to.size() != 4 || to[2] != 1) return weights;
  to.erase(to.begin() + 2);
  return from == to ? reshape.getX() : weights;
}

class Layout final : public mlir::PassWrapper<Layout, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Layout)
  explicit Layout(std::int64_t lanes) { lanes_ = lanes; }
  Layout(const Layout& other) : PassWrapper(other) {}
  llvm::StringRef getArgument() const override { return "kiln-layout"; }
  llvm::StringRef getDescription() const override { return "Pack the right operands of products"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(), [&](mlir::Block& block) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block.without_terminator())) {
        if (auto dot = llvm::dyn_cast<ir::DotOp>(op))
          pack(dot);
        else if (auto convolution = llvm::dyn_cast<ir::ConvolutionOp>(op))
          pack(convolution);
      }
    });
    for_each_block(getOperation(), erase_dead);
  }

 private:
  std::int64_t panel(std::int64_t columns, mlir::Value v) const {
    return panel_width(columns, lanes_, ir::ranked(v).getElementTypeBitWidth());
  }

  void pack(ir::DotOp op) {
    mlir::OpBuilder builder(op);
    mlir::Value lhs = op.getLhs(), rhs = op.getRhs();
    bool transpose_lhs = op.getTransposeLhs(), transpose_rhs = op.getTransposeRhs();
    if (mlir::Value v = before_swap(lhs)) {
      lhs = v;
      transpose_lhs = !transpose_lhs;
    }
    if (mlir::Value v = before_swap(rhs)) {
      rhs = v;
      transpose_rhs = !transpose_rhs;
    }
    Dims shape(ir::ranked(rhs).getShape());
    std::int64_t k = shape[shape.size() - (transpose_rhs ? 1 : 2)],
                 n = shape[shape.size() - (transpose_rhs ? 2 : 1)];
    std::int64_t width = panel(n, rhs);
    shape.resize(shape.size() - 2);
    shape.append({ceil_div(n, width), k, width});
    auto type = mlir::RankedTensorType::get(shape, ir::ranked(rhs).getElementType());
    auto packed =
        ir::PackOp::create(builder, op.getLoc(), type, rhs, static_cast<std::uint64_t>(width), transpose_rhs,
                           /*convolution=*/false, /*groups=*/1);
    auto product = ir::PackedDotOp::create(builder, op.getLoc(), op.getType(), lhs, packed, transpose_lhs);
    op.replaceAllUsesWith(product.getResult());
    op.erase();
  }

  void pack(ir::ConvolutionOp op) {
    mlir::OpBuilder builder(op);
    mlir::Value weights = before_height(op.getW());
    Dims shape(ir::ranked(op.getW()).getShape());
    auto groups = static_cast<std::int64_t>(op.getGroups());
    std::int64_t n = shape[0] / groups, k = 1;
    for (std::int64_t d : llvm::drop_begin(shape)) k *= d;
    std::int64_t width = panel(n, weights);
    auto type = mlir::RankedTensorType::get({groups, ceil_div(n, width), k, width},
                                            ir::ranked(weights).getElementType());
    auto packed = ir::PackOp::create(builder, op.getLoc(), type, weights, static_cast<std::uint64_t>(width),
                                     /*transposed=*/false, /*convolution=*/true, op.getGroups());
    auto product =
        ir::PackedConvolutionOp::create(builder, op.getLoc(), op.getType(), op.getX(), packed, op.getGroups(),
                                        Dims(llvm::drop_begin(shape, 2)), op.getStride(), op.getDilate());
    op.replaceAllUsesWith(product.getResult());
    op.erase();
  }

  Option<std::int64_t> lanes_{*this, "lanes", llvm::cl::desc("f32 lanes of a vector register"),
                              llvm::cl::init(16)};
};

}  // namespace

std::int64_t panel_width(std::int64_t columns, std::int64_t lanes, unsigned bits) {
  // The unit is a register of elements; in scalar code two columns, so that panels are not too narrow. Up to
  // 4 units make a panel (more accumulators than that do not help one row), and panels of one matrix are
  // equally wide with as little padding as that allows.
  std::int64_t unit = std::max<std::int64_t>(2, bits > 32 ? lanes / 2 : lanes);
  std::int64_t units = std::max<std::int64_t>(1, ceil_div(columns, unit));
  return unit * ceil_div(units, ceil_div(units, 4));
}

std::unique_ptr<mlir::Pass> create_layout_pass(std::int64_t lanes) { return std::make_unique<Layout>(lanes); }

}  // namespace kiln::passes
