// The rewrites of kiln-expand, one function for each kind of operation.
#include "passes/expand.h"

#include "passes/convolution_layout.h"
#include "passes/sweep.h"
#include "runtime/dtype_table.h"

#include <llvm/ADT/Sequence.h>

namespace kiln::passes {
namespace {

using Dims = llvm::SmallVector<std::int64_t, 6>;

/// The maximum number of taps of a tree over one padded array: they become operands of one kernel.
constexpr std::int64_t max_taps_of_tree = 16;

Dims shape_of(mlir::Value v) { return Dims(ir::ranked(v).getShape()); }

/// Builds the replacement of one operation, at its insertion point and location.
class Expander {
 public:
  explicit Expander(mlir::Operation* op) : builder_(op), loc_(op->getLoc()) {}

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<std::int64_t> shape) {
    return builder_.createOrFold<ir::ReshapeOp>(loc_, ir::with_shape(x, shape), x);
  }

  /// Pads the spatial axes with `value`; returns x itself if the pads are zero.
  mlir::Value pad_spatial(mlir::Value x, mlir::TypedAttr value, const Shape& low, const Shape& high) {
    Dims shape = shape_of(x), l(shape.size(), 0), h(shape.size(), 0);
    bool any = false;
    for (std::size_t i = 0; i < low.size(); ++i) {
      l[i + 2] = low[i];
      h[i + 2] = high[i];
      shape[i + 2] += low[i] + high[i];
      any |= low[i] > 0 || high[i] > 0;
    }
    return any ? ir::PadOp::create(builder_, loc_, ir::with_shape(x, shape), x, value, l, h).getResult() : x;
  }

  static bool is_sum_of_nothing(mlir::Value operand, mlir::Value result) {
    return ir::ranked(operand).getNumElements() == 0 && ir::ranked(result).getNumElements() != 0;
  }

  mlir::Value zeros(mlir::Value result) {
    auto type = ir::ranked(result);
    auto zero = mlir::DenseElementsAttr::get(type, builder_.getZeroAttr(type.getElementType()));
    return ir::ConstantOp::create(builder_, loc_, type, zero);
  }

  //===--- reduce ---------------------------------------------------------===//

  /// Runs of reduced axes, between which kept axes lie, one after the other, the last one first.
  mlir::Value reduce(ir::ReduceOp op) {
    Dims shape = shape_of(op.getX());
    llvm::SmallVector<Dims> runs;
    bool continues = false;
    for (std::int64_t axis = static_cast<std::int64_t>(shape.size()); axis-- > 0;) {
      if (llvm::is_contained(op.getAxes(), axis)) {
        if (!continues) runs.emplace_back();
        runs.back().insert(runs.back().begin(), axis);
        continues = true;
      } else {
        continues = false;
      }
    }
    if (runs.size() < 2) return {};
    mlir::Value x = op.getX();
    ir::Reduce kind = op.getKind();
    bool any = false;
    for (const Dims& run : runs) {
      std::int64_t elements = 1;
      for (const std::int64_t axis : llvm::reverse(run)) {
        elements *= shape[static_cast<std::size_t>(axis)];
        shape.erase(shape.begin() + axis);
      }
      if (elements == 1 && (any || &run != &runs.back())) {
        x = reshape(x, shape);
        continue;
      }
      x = ir::ReduceOp::create(builder_, loc_, ir::with_shape(x, shape), kind, x, run);
      if (kind == ir::Reduce::sum_squares) kind = ir::Reduce::sum;
      any = true;
    }
    return x;
  }

  //===--- dot ------------------------------------------------------------===//

  mlir::Value dot(ir::DotOp op) {
    if (is_sum_of_nothing(op.getLhs(), op.getResult())) return zeros(op.getResult());
    return op.getAlgorithm() == ir::Algorithm::chained512 ? outer_product(op) : mlir::Value();
  }

  /// A contraction over one element: each result is one multiply-add to +0, which turns a product of -0 into
  /// +0. Null for any other contraction.
  mlir::Value outer_product(ir::DotOp op) {
    Dims lhs = shape_of(op.getLhs()), rhs = shape_of(op.getRhs());
    const mlir::RankedTensorType type = op.getType();
    const mlir::Type element = type.getElementType();
    const std::int64_t k = op.getTransposeLhs() ? lhs.end()[-2] : lhs.back();
    if (k != 1 || is_narrow_float(ir::dtype_of_element(element))) return {};
    if (op.getTransposeLhs()) std::swap(lhs.back(), lhs.end()[-2]);
    if (op.getTransposeRhs()) std::swap(rhs.back(), rhs.end()[-2]);
    const auto axes = llvm::to_vector(llvm::seq<std::int64_t>(0, type.getRank()));
    mlir::Value a = ir::BroadcastOp::create(builder_, loc_, type, reshape(op.getLhs(), lhs), axes);
    mlir::Value b = ir::BroadcastOp::create(builder_, loc_, type, reshape(op.getRhs(), rhs), axes);
    return ir::FmaOp::create(builder_, loc_, type, a, b, zeros(op.getResult()));
  }

  //===--- windows --------------------------------------------------------===//

  mlir::Value convolution(ir::ConvolutionOp op) {
    if (is_sum_of_nothing(op.getW(), op.getResult())) return zeros(op.getResult());
    if (op.getAlgorithm() == ir::Algorithm::winograd) return {};  // it pads while reading
    mlir::Value x = padded(op);
    if (x == op.getX()) return {};
    Dims none(op.getStride().size(), 0);
    return ir::ConvolutionOp::create(builder_, loc_, op.getType(), x, op.getW(), op.getGroups(),
                                     op.getAlgorithm(), op.getStride(), op.getDilate(), none, none);
  }

  mlir::Value convolution_weights(ir::ConvolutionWeightsOp op) {
    if (is_sum_of_nothing(op.getG(), op.getResult())) return zeros(op.getResult());
    mlir::Value x = padded(op);
    if (x == op.getX()) return {};
    Dims none(op.getStride().size(), 0);
    return ir::ConvolutionWeightsOp::create(builder_, loc_, op.getType(), x, op.getG(), op.getDepthwise(),
                                            op.getKernel(), op.getStride(), op.getDilate(), none, none);
  }

  mlir::Value reduce_window(ir::ReduceWindowOp op) {
    ir::Window w = ir::window_of(op);
    kind_ = ir::combiner(op.getKind());
    mlir::Value x =
        pad_spatial(op.getX(), ir::identity_of(op.getKind(), ir::ranked(op.getX()).getElementType()),
                    w.pad_low, w.pad_high);
    out_ = shape_of(op.getResult());
    std::int64_t taps = 1;
    for (std::size_t i = 0; i < w.kernel.size(); ++i) taps *= w.kernel[i];
    if (taps <= max_taps_of_tree) {
      Dims start(out_.size(), 0), step(out_.size(), 1);
      return tree(x, w, 0, start, step);
    }
    for (std::size_t i = w.kernel.size(); i-- > 0;) {
      mlir::Value sum;
      for (std::int64_t t = 0; t < w.kernel[i]; ++t) {
        Dims shape = shape_of(x), start(shape.size(), 0), step(shape.size(), 1);
        shape[i + 2] = out_[i + 2];
        start[i + 2] = t * w.dilate[i];
        step[i + 2] = w.stride[i];
        sum = combine(sum, slice(x, start, step, shape));
      }
      x = sum;
    }
    return x;
  }

 private:
  /// The input of a convolution, or of a gradient of its weights, with its padding; itself if it has none.
  template <class Op>
  mlir::Value padded(Op op) {
    const ir::Window w = ir::window_of(op);
    auto zero = llvm::cast<mlir::TypedAttr>(builder_.getZeroAttr(ir::ranked(op.getX()).getElementType()));
    return pad_spatial(op.getX(), zero, w.pad_low, w.pad_high);
  }

  /// The taps over the spatial axes from `axis` on, for the position in the preceding axes given by `start`.
  mlir::Value tree(mlir::Value x, const ir::Window& w, std::size_t axis, Dims& start, Dims& step) {
    if (axis == w.kernel.size()) return slice(x, start, step, out_);
    mlir::Value sum;
    step[axis + 2] = w.stride[axis];
    for (std::int64_t t = 0; t < w.kernel[axis]; ++t) {
      start[axis + 2] = t * w.dilate[axis];
      sum = combine(sum, tree(x, w, axis + 1, start, step));
    }
    return sum;
  }

  mlir::Value slice(mlir::Value x, const Dims& start, const Dims& step, const Dims& shape) {
    Dims limit;
    for (std::size_t i = 0; i < shape.size(); ++i)
      limit.push_back(shape[i] == 0 ? start[i] : start[i] + (shape[i] - 1) * step[i] + 1);
    return builder_.createOrFold<ir::SliceOp>(loc_, ir::with_shape(x, shape), x, start, limit, step);
  }

  mlir::Value combine(mlir::Value sum, mlir::Value tap) {
    return sum ? ir::BinaryOp::create(builder_, loc_, tap.getType(), kind_, sum, tap).getResult() : tap;
  }

  mlir::OpBuilder builder_;
  mlir::Location loc_;
  ir::Binary kind_ = ir::Binary::add;
  Dims out_;
};

class Expand final : public mlir::PassWrapper<Expand, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Expand)
  explicit Expand(const TargetModel& target) : target_(target) {}
  llvm::StringRef getArgument() const override { return "kiln-expand"; }
  llvm::StringRef getDescription() const override {
    return "Rewrite windows, paddings and small products into simpler operations";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(), [&](mlir::Block& block) { expand(block); });
  }

 private:
  void expand(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block.without_terminator())) {
      mlir::Value value;
      if (auto reduce = llvm::dyn_cast<ir::ReduceOp>(op))
        value = Expander(&op).reduce(reduce);
      else if (auto dot = llvm::dyn_cast<ir::DotOp>(op))
        value = Expander(&op).dot(dot);
      else if (auto convolution = llvm::dyn_cast<ir::ConvolutionOp>(op))
        value = Expander(&op).convolution(convolution);
      else if (auto weights = llvm::dyn_cast<ir::ConvolutionWeightsOp>(op))
        value = Expander(&op).convolution_weights(weights);
      else if (auto window = llvm::dyn_cast<ir::ReduceWindowOp>(op);
               window && !reduces_lines(window, target_))
        value = Expander(&op).reduce_window(window);
      if (!value) continue;
      op.getResult(0).replaceAllUsesWith(value);
      op.erase();
    }
  }

  const TargetModel& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_expand_pass(const TargetModel& target) {
  return std::make_unique<Expand>(target);
}

}  // namespace kiln::passes
