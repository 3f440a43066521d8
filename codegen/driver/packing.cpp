// Recognises the pack of a whole parameter.
#include "codegen/driver/packing.h"

#include "codegen/emit/window_order.h"
#include "ir/prepacked.h"
#include "ir/views.h"
#include "passes/convolution_layout.h"

namespace kiln::codegen {
namespace {

/// The pack that `op` is, or that is its whole body; null for other operations.
ir::PackOp pack_of(mlir::Operation* op) {
  if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op))
    return fusion.getNumResults() == 1
               ? fusion.getBody().front().getTerminator()->getOperand(0).getDefiningOp<ir::PackOp>()
               : ir::PackOp();
  return llvm::dyn_cast<ir::PackOp>(op);
}

/// The value that `v` is, of an operation outside of fusions or the first within one.
mlir::Value through_fusions(mlir::Value v) {
  for (;;) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(v)) {
      auto fusion = llvm::dyn_cast_if_present<ir::FusionOp>(argument.getOwner()->getParentOp());
      if (!fusion) return v;
      v = fusion.getOperand(argument.getArgNumber());
    } else if (auto fusion = v.getDefiningOp<ir::FusionOp>()) {
      v = fusion.getBody().front().getTerminator()->getOperand(
          llvm::cast<mlir::OpResult>(v).getResultNumber());
    } else {
      return v;
    }
  }
}

/// Whether `v` has the elements of a parameter, in their order.
bool is_parameter(mlir::Value v) {
  const ir::View view = ir::view_of(v);
  if (!view.is_contiguous()) return false;
  const mlir::Value base = ir::memory_of(through_fusions(view.base));
  return ir::is_unchanged_parameter(base) &&
         ir::ranked(base).getNumElements() == ir::ranked(v).getNumElements();
}

/// `v` before zeros at the end of an axis; `v` itself if it has none.
mlir::Value without_zeros(mlir::Value v, std::size_t axis) {
  auto pad = v.getDefiningOp<ir::PadOp>();
  if (!pad || pad.getValueAttr() != mlir::Builder(pad).getZeroAttr(pad.getType().getElementType())) return v;
  const auto is_zero = [](std::int64_t n) { return n == 0; };
  const llvm::ArrayRef<std::int64_t> high = pad.getHigh();
  return llvm::all_of(pad.getLow(), is_zero) && llvm::all_of(high.take_front(axis), is_zero) &&
                 llvm::all_of(high.drop_front(axis + 1), is_zero)
             ? through_fusions(pad.getX())
             : v;
}

/// The weights (o, c, kernel...) of a convolution, which a pack of words reads with the channels last as
/// (groups, columns, k); null for other arrays. With one tap there is no transpose.
mlir::Value before_channels_last(mlir::Value v) {
  auto reshape = v.getDefiningOp<ir::ReshapeOp>();
  if (!reshape) return {};
  const mlir::Value x = through_fusions(reshape.getX());
  const auto is_one = [](std::int64_t extent) { return extent == 1; };
  if (const auto shape = ir::ranked(x).getShape();
      shape.size() > 2 && llvm::all_of(shape.drop_front(2), is_one))
    return x;
  auto transpose = x.getDefiningOp<ir::TransposeOp>();
  return transpose && transpose.getPermutation().equals(passes::channels_last_order(ir::ranked(x).getRank()))
             ? through_fusions(transpose.getX())
             : mlir::Value();
}

/// A pack of words. Zeros fill the channels up.
std::optional<Packing> packing_of_words(ir::PackOp pack) {
  const mlir::Value matrix = through_fusions(pack.getX()), weights = before_channels_last(matrix);
  const mlir::Value filled = weights ? weights : matrix;
  const auto packed = ir::ranked(filled).getShape();
  const std::size_t axis = weights ? 1 : packed.size() - 1;
  const mlir::Value parameter = without_zeros(filled, axis);
  if (!is_parameter(parameter)) return {};
  const TensorType type = ir::to_tensor_type(parameter.getType());
  if (type.elements() == 0) return {};
  const auto of_matrix = ir::ranked(matrix).getShape();
  const std::size_t rank = of_matrix.size();
  return Packing{.element_bytes = static_cast<std::int64_t>(size_of(type.dtype)),
                 .groups = mlir::ShapedType::getNumElements(of_matrix.drop_back(2)),
                 .columns = of_matrix[rank - 2],
                 .channels = type.shape[axis],
                 .taps = weights ? mlir::ShapedType::getNumElements(packed.drop_front(2)) : 1,
                 .packed_channels = packed[axis],
                 .values = ir::values_of_word(pack.getKind()),
                 .panel = static_cast<std::int64_t>(pack.getPanel()),
                 .channel_block = packed[axis]};
}

}  // namespace

std::optional<Packing> packing_of(mlir::Operation* op) {
  ir::PackOp pack = pack_of(op);
  if (!pack || pack.getKind() == ir::PackKind::winograd) return {};
  if (ir::values_of_word(pack.getKind()) > 1) return packing_of_words(pack);
  if (!is_parameter(pack.getX())) return {};
  const auto shape = ir::ranked(pack.getX()).getShape();
  const TensorType type = ir::to_tensor_type(pack.getX().getType());
  if (type.elements() == 0) return {};
  Packing packing{.element_bytes = static_cast<std::int64_t>(size_of(type.dtype)),
                  .groups = static_cast<std::int64_t>(pack.getGroups()),
                  .taps = 1,
                  .panel = static_cast<std::int64_t>(pack.getPanel()),
                  .channel_block = channel_block};
  if (ir::packs_weights(pack)) {
    packing.columns = shape[0] / packing.groups;
    packing.channels = shape[1];
    packing.taps = mlir::ShapedType::getNumElements(shape.drop_front(2));
  } else {
    packing.columns_last = pack.getKind() == ir::PackKind::matrix;
    packing.groups = mlir::ShapedType::getNumElements(shape.drop_back(2));
    packing.columns = shape[shape.size() - (packing.columns_last ? 1 : 2)];
    packing.channels = shape[shape.size() - (packing.columns_last ? 2 : 1)];
  }
  packing.packed_channels = packing.channels;
  return packing;
}

}  // namespace kiln::codegen
