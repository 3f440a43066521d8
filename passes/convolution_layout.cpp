// Chooses the layouts of convolutions and poolings, by the target and by what is beside them.
#include "passes/convolution_layout.h"

#include "ir/window_shapes.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Utils/IndexingUtils.h>

namespace kiln::passes {
namespace {

/// Whether only elementwise operations and the end of the function use it, and their results.
bool is_returned(mlir::Operation* op) {
  llvm::SetVector<mlir::Operation*> found;
  found.insert(op);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (mlir::Operation* user : found[i]->getUsers()) {
      if (user->hasTrait<mlir::OpTrait::IsTerminator>()) continue;
      if (!ir::is_pointwise(user)) return false;
      found.insert(user);
    }
  return true;
}

/// Whether `x` is an argument, or follows from arguments and broadcasts by elementwise operations alone.
bool is_given(mlir::Value x) {
  llvm::SetVector<mlir::Value> found;
  found.insert(x);
  for (std::size_t i = 0; i < found.size(); ++i) {
    mlir::Operation* const op = found[i].getDefiningOp();
    if (!op || llvm::isa<ir::ConstantOp, ir::BroadcastOp>(op)) continue;
    if (!ir::is_pointwise(op)) return false;
    found.insert_range(op->getOperands());
  }
  return true;
}

/// Whether windows of a given `x` give results `op`, perhaps by elementwise operations, and a kernel of
/// windows along lines suits them. Between others of the function, both arrays could have the channels last.
bool suits_lines(mlir::Operation* op, mlir::Value x, const ir::Window& w, const TargetModel& target) {
  constexpr std::int64_t max_taps = 64, max_stride = 4;  // the kernel's code has all taps
  const mlir::RankedTensorType result = ir::ranked(op->getResult(0));
  return result.getRank() <= 4 && llvm::isa<mlir::FloatType>(result.getElementType()) &&
         w.kernel.elements() <= max_taps && w.stride.back() <= max_stride && is_given(x) &&
         target.filters_channels_first(result.getShape().back(),
                                       result.getRank() == 4 ? ir::reach_of(w, 0) + 1 : 1,
                                       ir::ranked(x).getShape().back(), result.getElementTypeBitWidth()) &&
         is_returned(op);
}

/// Whether vectors run along lines, with the channels first. If the input is computed, or the result is read,
/// by operations that could have the channels last, the convolution has to gain what their transposes cost.
bool runs_along_lines(ir::ConvolutionOp op, const TargetModel& target) {
  const mlir::RankedTensorType result = op.getType();
  if (is_depthwise(op) || op.getAlgorithm() != ir::Algorithm::chained512) return false;
  mlir::Value x = op.getX();
  if (auto pad = x.getDefiningOp<ir::PadOp>()) x = pad.getX();
  const auto weights = ir::ranked(op.getW()).getShape();
  const bool given = is_given(x), alone = given && is_returned(op);
  // Each element of a transposed input is then multiplied only once for each channel.
  if (!given && mlir::ShapedType::getNumElements(weights.drop_front(2)) == 1) return false;
  // A narrower window reads a part of each line; the other points of the line would be copied for nothing.
  const std::int64_t stride = op.getStride().back();
  if (stride > weights.back()) return false;
  // Users of a grouped convolution, a pooling for example, join its kernel if the channels are last. The same
  // holds for convolutions with strides, whose lines would have to be deinterleaved besides.
  if ((op.getGroups() > 1 || stride > 1) && !alone) return false;
  const std::int64_t input_lines = mlir::ShapedType::getNumElements(weights.drop_front().drop_back());
  return target.vectorizes_lines(result.getDimSize(1) / static_cast<std::int64_t>(op.getGroups()),
                                 has_one_line(op) ? points_of_channel(result) : result.getShape().back(),
                                 input_lines, stride, alone, result.getElementTypeBitWidth());
}

/// Whether a 1x1 convolution's input is given and its result is returned, perhaps through elementwise
/// operations. Between other operations of the function, both arrays could have the channels last.
bool multiplies_images(ir::ConvolutionOp op, const TargetModel& target) {
  const mlir::RankedTensorType type = op.getType();
  return op.getAlgorithm() == ir::Algorithm::chained512 && op.getGroups() == 1 &&
         llvm::isa<mlir::FloatType>(type.getElementType()) && is_given(op.getX()) && has_one_line(op) &&
         target.multiplies_channels_first(type.getDimSize(0), ir::ranked(op.getX()).getDimSize(1),
                                          points_of_channel(type), type.getDimSize(1),
                                          type.getElementTypeBitWidth()) &&
         is_returned(op);
}

/// Whether the convolution is a depthwise one from a given image, perhaps with a padding, to results.
bool filters_planes(ir::ConvolutionOp op, const TargetModel& target) {
  return is_depthwise(op) && suits_lines(op, unpadded_input(op).x, ir::window_of(op), target);
}

}  // namespace

llvm::SmallVector<std::int64_t> channels_last_order(std::int64_t rank) {
  llvm::SmallVector<std::int64_t> order{0};
  for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

llvm::SmallVector<std::int64_t> channels_first_order(std::int64_t rank) {
  return mlir::invertPermutationVector(channels_last_order(rank));
}

ConvolutionLayout layout_of(ir::ConvolutionOp op, const TargetModel& target) {
  if (runs_along_lines(op, target)) return ConvolutionLayout::lines;
  if (multiplies_images(op, target)) return ConvolutionLayout::images;
  if (filters_planes(op, target)) return ConvolutionLayout::planes;
  return ConvolutionLayout::channels_last;
}

bool reduces_lines(ir::ReduceWindowOp op, const TargetModel& target) {
  // Half precision would round each sum.
  const bool is_wide = op.getType().getElementTypeBitWidth() >= 32;
  return (is_wide || op.getKind() == ir::Reduce::max) &&
         suits_lines(op, op.getX(), ir::window_of(op), target);
}

bool is_depthwise(ir::ConvolutionOp op) {
  const auto w = ir::ranked(op.getW()).getShape();
  return op.getGroups() > 1 && w[1] == 1 && w[0] == ir::ranked(op.getX()).getDimSize(1);
}

bool has_one_line(ir::ConvolutionOp op) {
  const auto is_one = [](std::int64_t extent) { return extent == 1; };
  return llvm::all_of(ir::ranked(op.getW()).getShape().drop_front(2), is_one) &&
         llvm::all_of(op.getStride(), is_one) &&
         op.getType().getShape().drop_front(2) == ir::ranked(op.getX()).getShape().drop_front(2);
}

std::int64_t points_of_channel(mlir::RankedTensorType images) {
  return mlir::ShapedType::getNumElements(images.getShape().drop_front(2));
}

UnpaddedInput unpadded_input(ir::ConvolutionOp op) {
  const auto is_zero = [](std::int64_t n) { return n == 0; };
  auto pad = op.getX().getDefiningOp<ir::PadOp>();
  if (!pad || pad.getValueAttr() != mlir::Builder(op).getZeroAttr(op.getType().getElementType()) ||
      !llvm::all_of(pad.getLow().take_front(2), is_zero) ||
      !llvm::all_of(pad.getHigh().take_front(2), is_zero))
    return {op.getX(), llvm::SmallVector<std::int64_t, 6>(op.getStride().size(), 0)};
  return {pad.getX(), llvm::SmallVector<std::int64_t, 6>(pad.getLow().drop_front(2))};
}

namespace {

/// A padding at the end of an axis, beside `low` and `high`.
mlir::Value padded_longer(mlir::OpBuilder& builder, mlir::Value x, mlir::TypedAttr value,
                          llvm::SmallVector<std::int64_t, 6> low, llvm::SmallVector<std::int64_t, 6> high,
                          std::size_t axis, std::int64_t more) {
  high[axis] += more;
  llvm::SmallVector<std::int64_t, 6> shape(ir::ranked(x).getShape());
  for (auto [extent, before, after] : llvm::zip(shape, low, high)) extent += before + after;
  return ir::PadOp::create(builder, x.getLoc(), ir::with_shape(x, shape), x, value, low, high);
}

}  // namespace

mlir::Value lengthened(mlir::OpBuilder& builder, mlir::Value x, std::size_t axis, std::int64_t more) {
  auto pad = x.getDefiningOp<ir::PadOp>();
  if (more == 0 || !pad) return with_zeros(builder, x, axis, more);
  return padded_longer(builder, pad.getX(), pad.getValueAttr(), llvm::to_vector<6>(pad.getLow()),
                       llvm::to_vector<6>(pad.getHigh()), axis, more);
}

mlir::Value with_zeros(mlir::OpBuilder& builder, mlir::Value x, std::size_t axis, std::int64_t more) {
  if (more == 0) return x;
  const mlir::TypedAttr zero = builder.getZeroAttr(ir::ranked(x).getElementType());
  if (auto pad = x.getDefiningOp<ir::PadOp>(); pad && pad.getValueAttr() == zero)
    return lengthened(builder, x, axis, more);
  const llvm::SmallVector<std::int64_t, 6> none(ir::ranked(x).getShape().size(), 0);
  return padded_longer(builder, x, zero, none, none, axis, more);
}

}  // namespace kiln::passes
