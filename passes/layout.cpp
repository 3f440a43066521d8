#include "passes/layout.h"

#include "ir/dialect.h"
#include "passes/sweep.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Utils/IndexingUtils.h>

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
    auto packed = make_pack(builder, op.getLoc(),
                            transpose_rhs ? ir::PackKind::transposed : ir::PackKind::matrix, rhs, shape, 1);
    auto product = ir::PackedDotOp::create(builder, op.getLoc(), op.getType(), lhs, packed, transpose_lhs);
    op.replaceAllUsesWith(product.getResult());
    op.erase();
  }

  /// Channels last: a tile's columns are then neighbours in the result as in the packed weights.
  void pack(ir::ConvolutionOp op) {
    mlir::OpBuilder builder(op);
    const Dims shape(ir::ranked(op.getW()).getShape());
    const auto rank = static_cast<std::int64_t>(shape.size());
    auto x = ir::TransposeOp::create(builder, op.getLoc(), channels_last(op.getX()), op.getX(),
                                     channels_last_order(rank));
    const mlir::Value product = ir::by_winograd(op) ? winograd(builder, op, x) : direct(builder, op, x);
    auto result =
        ir::TransposeOp::create(builder, op.getLoc(), op.getType(), product, channels_first_order(rank));
    op.replaceAllUsesWith(result.getResult());
    op.erase();
  }

  mlir::Value winograd(mlir::OpBuilder& builder, ir::ConvolutionOp op, mlir::Value x) const {
    const auto shape = ir::ranked(op.getW()).getShape();
    const std::int64_t width = panel(shape[0], op.getW());
    auto packed = make_pack(builder, op.getLoc(), ir::PackKind::winograd, op.getW(),
                            {16, ceil_div(shape[0], width), shape[1], width}, 1);
    return ir::WinogradOp::create(builder, op.getLoc(), channels_last(op.getResult()), x, packed,
                                  op.getPadLow());
  }

  mlir::Value direct(mlir::OpBuilder& builder, ir::ConvolutionOp op, mlir::Value x) const {
    const auto shape = ir::ranked(op.getW()).getShape();
    const std::int64_t channels = ir::ranked(op.getX()).getDimSize(1);
    // Where each channel has one kernel of its own, the kernels are packed side by side.
    const bool depthwise = op.getGroups() > 1 && shape[1] == 1 && shape[0] == channels;
    const std::int64_t groups = depthwise ? 1 : static_cast<std::int64_t>(op.getGroups());
    const std::int64_t n = shape[0] / groups, k = mlir::ShapedType::getNumElements(shape.drop_front());
    const std::int64_t width = panel(n, op.getW());
    auto packed = make_pack(builder, op.getLoc(), ir::PackKind::convolution, op.getW(),
                            {groups, ceil_div(n, width), k, width}, groups);
    return ir::PackedConvolutionOp::create(builder, op.getLoc(), channels_last(op.getResult()), x, packed,
                                           op.getGroups(), shape.drop_front(2), op.getStride(),
                                           op.getDilate());
  }

  static mlir::Value make_pack(mlir::OpBuilder& builder, mlir::Location loc, ir::PackKind kind, mlir::Value x,
                               llvm::ArrayRef<std::int64_t> shape, std::int64_t groups) {
    auto type = mlir::RankedTensorType::get(shape, ir::ranked(x).getElementType());
    return ir::PackOp::create(builder, loc, type, kind, x, static_cast<std::uint64_t>(shape.back()),
                              static_cast<std::uint64_t>(groups));
  }

  static mlir::RankedTensorType channels_last(mlir::Value v) {
    auto type = ir::ranked(v);
    return mlir::RankedTensorType::get(
        mlir::applyPermutation(type.getShape(), channels_last_order(type.getRank())), type.getElementType());
  }

  Option<std::int64_t> lanes_{*this, "lanes", llvm::cl::desc("f32 lanes of a vector register"),
                              llvm::cl::init(16)};
};

}  // namespace

std::int64_t panel_width(std::int64_t columns, std::int64_t lanes, unsigned bits) {
  // The unit is a register of elements; in scalar code two columns, so that panels are not too narrow. Two or
  // three units make a panel, whichever leaves less padding: with one, half of what the kernel does is
  // loading left factors, with more there are too few rows to a tile.
  std::int64_t unit = std::max<std::int64_t>(2, bits > 32 ? lanes / 2 : lanes);
  std::int64_t units = std::max<std::int64_t>(1, ceil_div(columns, unit));
  if (units <= 3) return unit * units;
  const auto cost = [&](std::int64_t width) { return ceil_div(units, width) * width * (width == 1 ? 8 : 7); };
  std::int64_t best = 2;
  for (std::int64_t width : {3, 1})
    if (cost(width) < cost(best)) best = width;
  return unit * best;
}

llvm::SmallVector<std::int64_t> channels_last_order(std::int64_t rank) {
  llvm::SmallVector<std::int64_t> order{0};
  for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

llvm::SmallVector<std::int64_t> channels_first_order(std::int64_t rank) {
  return mlir::invertPermutationVector(channels_last_order(rank));
}

std::unique_ptr<mlir::Pass> create_layout_pass(std::int64_t lanes) { return std::make_unique<Layout>(lanes); }

}  // namespace kiln::passes
