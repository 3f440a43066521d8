// Rewrites contractions and convolutions: packed B, and arrays in the layout of the convolution.
#include "passes/layout.h"

#include "ir/dialect.h"
#include "ir/prepacked.h"
#include "ir/views.h"
#include "ir/widened_casts.h"
#include "passes/byte_factors.h"
#include "passes/convolution_layout.h"
#include "passes/permute_axes.h"
#include "passes/sweep.h"

#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Utils/IndexingUtils.h>

namespace kiln::passes {
namespace {

using Dims = llvm::SmallVector<std::int64_t, 6>;

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

/// Whether a cast widens half precision or bytes to f32.
bool widens_to_f32(ir::CastOp cast) {
  return ir::widens_half(cast) ||
         (ir::ranked(cast).getElementType().isF32() && ir::ranked(cast.getX()).getElementType().isInteger(8));
}

/// The narrow array of a parameter that `v` widens: the parameter itself, in half precision or of bytes, or
/// what Precision::bf16 has rounded of it. Null if it is another value.
mlir::Value before_widening(mlir::Value v) {
  auto cast = v.getDefiningOp<ir::CastOp>();
  if (!cast || !widens_to_f32(cast)) return {};
  ir::View view = ir::view_of(cast.getX());
  if (auto rounding = view.base.getDefiningOp<ir::CastOp>(); rounding && view.is_contiguous())
    view = ir::view_of(rounding.getX());
  return view.is_contiguous() && ir::is_unchanged_parameter(ir::memory_of(view.base)) ? cast.getX()
                                                                                      : mlir::Value();
}

class Layout final : public mlir::PassWrapper<Layout, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Layout)
  explicit Layout(const TargetModel& target) : target_(target) {}
  llvm::StringRef getArgument() const override { return "kiln-layout"; }
  llvm::StringRef getDescription() const override { return "Pack B of contractions"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(), [&](mlir::Block& block) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block.without_terminator())) {
        if (ir::is_on_tensor_cores(&op)) continue;
        if (auto dot = llvm::dyn_cast<ir::DotOp>(op))
          pack(dot);
        else if (auto convolution = llvm::dyn_cast<ir::ConvolutionOp>(op))
          pack(convolution);
        else if (auto weights = llvm::dyn_cast<ir::ConvolutionWeightsOp>(op))
          pack(weights);
      }
    });
    for_each_block(getOperation(), erase_dead);
  }

 private:
  void pack(ir::DotOp op) {
    mlir::OpBuilder builder(op);
    if (target_.multiplies_bytes())
      if (const auto factors = byte_factors(builder, op)) return multiply_bytes(builder, op, *factors);
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
    // A single column would use one lane of a register, so it is computed as a row. Exception: a large batch
    // of matrices, which a separate kernel would have to transpose.
    constexpr std::int64_t large_bytes = 2 << 20;
    const llvm::ArrayRef<std::int64_t> result = op.getType().getShape();
    const std::size_t rank = result.size();
    const bool exchanged = result[rank - 1] == 1 && result[rank - 2] > 1 &&
                           (rank == 2 || transpose_lhs || ir::bytes_of(lhs) <= large_bytes);
    llvm::SmallVector<std::int64_t> shape_of_product(result);
    if (exchanged) {
      std::swap(lhs, rhs);
      std::swap(transpose_lhs, transpose_rhs);
      transpose_lhs = !transpose_lhs;
      transpose_rhs = !transpose_rhs;
      std::swap(shape_of_product[rank - 1], shape_of_product[rank - 2]);
    }
    mlir::Value packed;
    if (op.getAlgorithm() == ir::Algorithm::paired32) {
      lhs = filled_steps(builder, transpose_lhs ? with_last_axes_swapped(builder, lhs) : lhs, rank - 1);
      rhs = filled_steps(builder, transpose_rhs ? rhs : with_last_axes_swapped(builder, rhs), rank - 1);
      packed = pack_words(builder, ir::PackKind::pairs, rhs);
      transpose_lhs = false;
    } else {
      rhs = to_pack(rhs, transpose_rhs, shape_of_product);
      packed = make_pack(
          builder, op.getLoc(), transpose_rhs ? ir::PackKind::transposed : ir::PackKind::matrix, rhs,
          ir::ranked(rhs).getDimSize(static_cast<unsigned>(rank - (transpose_rhs ? 2 : 1))), 1);
    }
    mlir::Value product = ir::PackedDotOp::create(
        builder, op.getLoc(), mlir::RankedTensorType::get(shape_of_product, op.getType().getElementType()),
        lhs, packed, transpose_lhs);
    if (exchanged) product = ir::ReshapeOp::create(builder, op.getLoc(), op.getType(), product);
    op.replaceAllUsesWith(product);
    op.erase();
  }

  void multiply_bytes(mlir::OpBuilder& builder, ir::DotOp op, const ByteFactors& factors) const {
    const mlir::Value packed = pack_words(builder, ir::PackKind::words, factors.rhs);
    const mlir::Value product = ir::PackedDotOp::create(builder, op.getLoc(), op.getType(), factors.lhs,
                                                        packed, /*transpose_lhs=*/false);
    op.replaceAllUsesWith(factors.corrected(builder, product));
    op.erase();
  }

  /// B as it is packed. A parameter in half precision, or of bytes, stays so in panels: the product reads a
  /// half or a quarter of the bytes, and widens them.
  mlir::Value to_pack(mlir::Value rhs, bool transposed, llvm::ArrayRef<std::int64_t> product) const {
    mlir::Value narrow = target_.widens_panels() ? before_widening(rhs) : mlir::Value();
    if (!narrow) return rhs;
    const auto shape = ir::ranked(rhs).getShape();
    const bool is_read_unpacked = target_.has_lanes_of_chunks(product[product.size() - 2], product.back(),
                                                              shape[shape.size() - (transposed ? 1 : 2)],
                                                              ir::ranked(rhs).getElementTypeBitWidth());
    return is_read_unpacked ? rhs : narrow;
  }

  void pack(ir::ConvolutionOp op) {
    mlir::OpBuilder builder(op);
    if (target_.multiplies_bytes())
      if (const auto factors = byte_factors(builder, op))
        return multiply_words(builder, op, ir::PackKind::words, *factors);
    if (ir::ConvolutionOp floats = replace_by_f32(builder, op)) return pack(floats);
    if (op.getAlgorithm() == ir::Algorithm::paired32)
      return multiply_words(builder, op, ir::PackKind::pairs,
                            {filled_steps(builder, op.getX(), 1), filled_steps(builder, op.getW(), 1), {}});
    switch (layout_of(op, target_)) {
      case ConvolutionLayout::lines:
        op.replaceAllUsesWith(channels_first(builder, op));
        op.erase();
        return;
      case ConvolutionLayout::images:
        return multiply_images(builder, op);
      case ConvolutionLayout::planes:
        return filter_planes(builder, op);
      case ConvolutionLayout::channels_last:
        return pack_channels_last(builder, op);
    }
  }

  /// With the channels last the columns of a tile are contiguous in the result, as in the packed weights.
  void pack_channels_last(mlir::OpBuilder& builder, ir::ConvolutionOp op) {
    const Dims shape(ir::ranked(op.getW()).getShape());
    const auto rank = static_cast<std::int64_t>(shape.size());
    const mlir::Value x = images_channels_last(builder, op.getX(), copies_channels_last(op));
    const bool by_winograd = op.getAlgorithm() == ir::Algorithm::winograd;
    const mlir::Value product = by_winograd ? winograd(builder, op, x) : direct(builder, op, x);
    auto result =
        ir::TransposeOp::create(builder, op.getLoc(), op.getType(), product, channels_first_order(rank));
    op.replaceAllUsesWith(result.getResult());
    op.erase();
  }

  /// The images `x` with the channels last. If `copies`, a padded argument, which is a copy anyway, is
  /// transposed as it is written. The channels of a point are then contiguous, instead of one cache line and
  /// one page each.
  static mlir::Value images_channels_last(mlir::OpBuilder& builder, mlir::Value x, bool copies) {
    const mlir::RankedTensorType type = channels_last(x);
    const auto order = channels_last_order(type.getRank());
    if (!copies || !copies_argument(x)) return ir::TransposeOp::create(builder, x.getLoc(), type, x, order);
    mlir::Operation* op = x.getDefiningOp();
    mlir::IRMapping map;
    map.map(op->getOperand(0), images_channels_last(builder, op->getOperand(0), true));
    return clone_with_axes(builder, op, map, order)->getResult(0);
  }
  /// Whether the copy of a convolution's input gains from the channels last: they fill a vector, and each of
  /// its lines is read for all taps. With strides taps share few points (0.85 of the speed).
  bool copies_channels_last(ir::ConvolutionOp op) const {
    const mlir::RankedTensorType type = ir::ranked(op.getX());
    const std::int64_t lanes = target_.vector_length(type.getElementTypeBitWidth());
    return lanes > 1 && type.getDimSize(1) >= lanes &&
           llvm::all_of(op.getStride(), [](std::int64_t stride) { return stride == 1; });
  }
  /// Whether `x` is a part of an argument that is padded.
  static bool copies_argument(mlir::Value x) {
    bool pads = false;
    while (mlir::Operation* op = x.getDefiningOp()) {
      if (!llvm::isa<ir::PadOp, ir::SliceOp>(op)) return false;
      pads |= llvm::isa<ir::PadOp>(op);
      x = op->getOperand(0);
    }
    return pads;
  }

  /// `v` with zeros at the end of an axis, up to whole steps of paired32.
  static mlir::Value filled_steps(mlir::OpBuilder& builder, mlir::Value v, std::size_t axis) {
    const std::int64_t extent = ir::ranked(v).getShape()[axis];
    return with_zeros(builder, v, axis,
                      static_cast<std::int64_t>(llvm::alignTo(extent, ir::step_of_pairs)) - extent);
  }

  /// With the channels last the values of a word are channels.
  void multiply_words(mlir::OpBuilder& builder, ir::ConvolutionOp op, ir::PackKind kind,
                      const ByteFactors& factors) const {
    const mlir::Value x = images_channels_last(builder, factors.lhs, copies_channels_last(op));
    const mlir::RankedTensorType weights = ir::ranked(factors.rhs);
    const auto kernel = weights.getShape().drop_front(2);
    const auto groups = static_cast<std::int64_t>(op.getGroups());
    const std::int64_t columns = weights.getDimSize(0) / groups,
                       k_extent = mlir::ShapedType::getNumElements(weights.getShape().drop_front());
    mlir::Value w = ir::TransposeOp::create(builder, op.getLoc(), channels_last(factors.rhs), factors.rhs,
                                            channels_last_order(weights.getRank()));
    w = ir::ReshapeOp::create(builder, op.getLoc(), ir::with_shape(w, {groups, columns, k_extent}), w);
    const mlir::Value product = ir::PackedConvolutionOp::create(
        builder, op.getLoc(), channels_last(op.getResult()), x, pack_words(builder, kind, w), op.getGroups(),
        kernel, op.getStride(), op.getDilate());
    auto result =
        ir::TransposeOp::create(builder, op.getLoc(), op.getType(), factors.corrected(builder, product),
                                channels_first_order(weights.getRank()));
    op.replaceAllUsesWith(result.getResult());
    op.erase();
  }

  void filter_planes(mlir::OpBuilder& builder, ir::ConvolutionOp op) {
    const UnpaddedInput input = unpadded_input(op);
    op.replaceAllUsesWith(ir::DepthwiseOp::create(builder, op.getLoc(), op.getType(), input.x, op.getW(),
                                                  op.getStride(), op.getDilate(), input.low)
                              .getResult());
    op.erase();
  }
  /// The weights (o, c) times each image (c, places).
  void multiply_images(mlir::OpBuilder& builder, ir::ConvolutionOp op) {
    const mlir::RankedTensorType type = op.getType();
    const std::int64_t images = type.getDimSize(0), filters = type.getDimSize(1),
                       channels = ir::ranked(op.getX()).getDimSize(1), columns = points_of_channel(type);
    const auto reshaped = [&](mlir::Value v, llvm::ArrayRef<std::int64_t> shape) {
      return ir::ReshapeOp::create(builder, op.getLoc(), ir::with_shape(v, shape), v).getResult();
    };
    mlir::Value w = reshaped(op.getW(), {filters, channels}), x;
    Dims result{filters, columns};
    if (images == 1) {
      x = reshaped(op.getX(), {channels, columns});
    } else {
      x = reshaped(op.getX(), {images, channels, columns});
      w = ir::BroadcastOp::create(builder, op.getLoc(), ir::with_shape(w, {images, filters, channels}), w,
                                  llvm::ArrayRef<std::int64_t>{1, 2});
      result.insert(result.begin(), images);
    }
    auto dot = ir::DotOp::create(builder, op.getLoc(), ir::with_shape(op.getResult(), result), w, x,
                                 ir::Algorithm::chained512, false, false);
    op.replaceAllUsesWith(reshaped(dot, type.getShape()));
    op.erase();
    pack(dot);
  }

  /// Channels last: the input channels of a tap are contiguous in x, the output channels in g. The result has
  /// the input channels outermost: it is the weights transposed as a matrix. Few input channels do not fill a
  /// tile; a tile then takes several taps if their channels are contiguous.
  void pack(ir::ConvolutionWeightsOp op) {
    constexpr std::int64_t few_channels = 32;
    mlir::OpBuilder builder(op);
    const mlir::RankedTensorType type = op.getType();
    const std::int64_t rank = type.getRank();
    const auto last = [&](mlir::Value v) {
      return ir::TransposeOp::create(builder, op.getLoc(), channels_last(v), v, channels_last_order(rank))
          .getResult();
    };
    const bool exchanged = gives_transposed(op),
               taps_first = !exchanged && !op.getDepthwise() && type.getDimSize(1) < few_channels;
    mlir::Value x = last(op.getX()), g = last(op.getG());
    std::int64_t rows = 1, columns = 0;  // axes of the weights (o, c, kernel...)
    if (exchanged) {
      std::swap(x, g);
      std::swap(rows, columns);
    }
    llvm::SmallVector<std::int64_t> order;
    for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
    order.insert(taps_first ? order.end() : order.begin(), rows);
    order.push_back(columns);
    const auto product_type =
        mlir::RankedTensorType::get(mlir::applyPermutation(type.getShape(), order), type.getElementType());
    const std::int64_t panel = target_.panel_width(type.getDimSize(columns), type.getElementTypeBitWidth());
    auto product =
        ir::WeightsProductOp::create(builder, op.getLoc(), product_type, x, g, op.getDepthwise(), taps_first,
                                     static_cast<std::uint64_t>(panel), op.getStride(), op.getDilate());
    auto result =
        ir::TransposeOp::create(builder, op.getLoc(), type, product, mlir::invertPermutationVector(order));
    op.replaceAllUsesWith(result.getResult());
    op.erase();
  }

  /// Whether the product is computed with x and g exchanged, which gives the transposed result. Applies if
  /// both have the same places and there are at least as many output channels: the kernel packs g, which then
  /// has the fewer channels.
  static bool gives_transposed(ir::ConvolutionWeightsOp op) {
    const auto is_one = [](std::int64_t extent) { return extent == 1; };
    const auto shape = op.getType().getShape();
    return !op.getDepthwise() && llvm::all_of(shape.drop_front(2), is_one) &&
           llvm::all_of(op.getStride(), is_one) && shape[0] >= shape[1] &&
           ir::ranked(op.getX()).getShape().drop_front(2) == ir::ranked(op.getG()).getShape().drop_front(2);
  }

  /// An image that is multiplied point by point is one line.
  mlir::Value channels_first(mlir::OpBuilder& builder, ir::ConvolutionOp op) const {
    const auto groups = static_cast<std::int64_t>(op.getGroups());
    auto packed = pack_in(builder, op.getLoc(), ir::PackKind::convolution, op.getW(),
                          one_panel(op.getW(), groups), groups);
    mlir::Value x = op.getX();
    mlir::RankedTensorType type = op.getType();
    Dims kernel(ir::ranked(op.getW()).getShape().drop_front(2)), stride(op.getStride()),
        dilate(op.getDilate());
    if (has_one_line(op) && type.getRank() > 3) {
      const auto joined = [](mlir::RankedTensorType of) {
        return mlir::RankedTensorType::get({of.getDimSize(0), of.getDimSize(1), points_of_channel(of)},
                                           of.getElementType());
      };
      x = ir::ReshapeOp::create(builder, op.getLoc(), joined(ir::ranked(x)), x);
      type = joined(type);
      kernel = stride = dilate = {1};
    }
    if (stride.back() > 1) x = phases_of_lines(builder, x, stride.back());
    mlir::Value product = ir::PackedConvolutionOp::create(builder, op.getLoc(), type, x, packed, groups,
                                                          kernel, stride, dilate, /*channels_first=*/true);
    if (type != op.getType()) product = ir::ReshapeOp::create(builder, op.getLoc(), op.getType(), product);
    return product;
  }

  /// Each line of x (..., points) taken apart, (..., stride, points / stride): the first row has the points
  /// 0, stride, 2 * stride and so on.
  static mlir::Value phases_of_lines(mlir::OpBuilder& builder, mlir::Value x, std::int64_t stride) {
    const mlir::Location loc = x.getLoc();
    Dims shape(ir::ranked(x).getShape()), order;
    const std::int64_t rest = shape.back() % stride, rank = static_cast<std::int64_t>(shape.size());
    // Points that no window has.
    if (rest > 0) x = lengthened(builder, x, shape.size() - 1, stride - rest);
    shape.back() = llvm::divideCeilSigned(shape.back(), stride);
    shape.push_back(stride);
    x = ir::ReshapeOp::create(builder, loc, ir::with_shape(x, shape), x);
    std::swap(shape[shape.size() - 2], shape.back());
    for (std::int64_t i = 0; i + 1 < rank; ++i) order.push_back(i);
    order.append({rank, rank - 1});
    return ir::TransposeOp::create(builder, loc, ir::with_shape(x, shape), x, order);
  }
  /// The width of a panel for all output channels of a group of the weights.
  std::int64_t one_panel(mlir::Value w, std::int64_t groups) const {
    const mlir::RankedTensorType type = ir::ranked(w);
    const std::int64_t channels = type.getDimSize(0) / groups,
                       panel = target_.panel_width(channels, type.getElementTypeBitWidth()),
                       lanes = target_.vector_length(type.getElementTypeBitWidth());
    return panel < channels ? llvm::divideCeilSigned(channels, lanes) * lanes : panel;
  }

  mlir::Value winograd(mlir::OpBuilder& builder, ir::ConvolutionOp op, mlir::Value x) const {
    auto packed = make_pack(builder, op.getLoc(), ir::PackKind::winograd, op.getW(),
                            ir::ranked(op.getW()).getDimSize(0), 1);
    return ir::WinogradOp::create(builder, op.getLoc(), channels_last(op.getResult()), x, packed,
                                  op.getPadLow());
  }

  mlir::Value direct(mlir::OpBuilder& builder, ir::ConvolutionOp op, mlir::Value x) const {
    const auto shape = ir::ranked(op.getW()).getShape();
    // Depthwise: the kernels of all channels are packed side by side.
    const std::int64_t groups = is_depthwise(op) ? 1 : static_cast<std::int64_t>(op.getGroups());
    // Narrow weights are widened in panels, so that their pack has no intermediate array.
    mlir::Value narrow = target_.widens_panels() ? before_widening(op.getW()) : mlir::Value();
    mlir::Value packed = make_pack(builder, op.getLoc(), ir::PackKind::convolution,
                                   narrow ? narrow : mlir::Value(op.getW()), shape[0] / groups, groups);
    if (narrow)
      packed = ir::CastOp::create(
          builder, op.getLoc(),
          mlir::RankedTensorType::get(ir::ranked(packed).getShape(), ir::ranked(op.getW()).getElementType()),
          packed);
    return ir::PackedConvolutionOp::create(builder, op.getLoc(), channels_last(op.getResult()), x, packed,
                                           op.getGroups(), shape.drop_front(2), op.getStride(),
                                           op.getDilate());
  }

  /// The panel width follows from the `columns` of each group.
  mlir::Value make_pack(mlir::OpBuilder& builder, mlir::Location loc, ir::PackKind kind, mlir::Value x,
                        std::int64_t columns, std::int64_t groups) const {
    const std::int64_t panel = target_.panel_width(columns, ir::ranked(x).getElementTypeBitWidth());
    return pack_in(builder, loc, kind, x, panel, groups);
  }
  static mlir::Value pack_in(mlir::OpBuilder& builder, mlir::Location loc, ir::PackKind kind, mlir::Value x,
                             std::int64_t panel, std::int64_t groups) {
    const mlir::RankedTensorType from = ir::ranked(x);
    auto type = mlir::RankedTensorType::get(ir::packed_shape(kind, from.getShape(), panel, groups),
                                            from.getElementType());
    return ir::PackOp::create(builder, loc, type, kind, x, static_cast<std::uint64_t>(panel),
                              static_cast<std::uint64_t>(groups));
  }

  /// Values (batch..., n, k) in panels of words.
  mlir::Value pack_words(mlir::OpBuilder& builder, ir::PackKind kind, mlir::Value x) const {
    const auto shape = ir::ranked(x).getShape();
    const mlir::Type word = builder.getI32Type();
    const std::int64_t panel = target_.panel_width(shape[shape.size() - 2], word.getIntOrFloatBitWidth());
    const auto type = mlir::RankedTensorType::get(ir::packed_shape(kind, shape, panel, 1), word);
    return ir::PackOp::create(builder, x.getLoc(), type, kind, x, static_cast<std::uint64_t>(panel), 1);
  }

  static mlir::RankedTensorType channels_last(mlir::Value v) {
    auto type = ir::ranked(v);
    return mlir::RankedTensorType::get(
        mlir::applyPermutation(type.getShape(), channels_last_order(type.getRank())), type.getElementType());
  }

  const TargetModel& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_layout_pass(const TargetModel& target) {
  return std::make_unique<Layout>(target);
}

}  // namespace kiln::passes
