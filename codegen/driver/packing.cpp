// Recognises the pack of a whole parameter.
#include "codegen/driver/packing.h"

#include "codegen/emit/window_order.h"
#include "ir/prepacked.h"
#include "ir/views.h"

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

/// Whether `v` has the elements of a parameter, in their order.
bool is_parameter(mlir::Value v, mlir::Operation* op) {
  const ir::View view = ir::view_of(v);
  if (!view.is_contiguous()) return false;
  mlir::Value base = view.base;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(base);
      argument && argument.getOwner()->getParentOp() == op)
    base = op->getOperand(argument.getArgNumber());
  base = ir::memory_of(base);
  return ir::is_unchanged_parameter(base) &&
         ir::ranked(base).getNumElements() == ir::ranked(v).getNumElements();
}

}  // namespace

std::optional<Packing> packing_of(mlir::Operation* op) {
  ir::PackOp pack = pack_of(op);
  if (!pack || pack.getKind() == ir::PackKind::winograd || !is_parameter(pack.getX(), op)) return {};
  const std::int64_t in_element = ir::values_of_word(pack.getKind());
  const auto shape = ir::ranked(pack.getX()).getShape();
  const TensorType type = ir::to_tensor_type(pack.getX().getType());
  if (type.elements() == 0) return {};
  Packing packing{.element_bytes = static_cast<std::int64_t>(size_of(type.dtype)) * in_element,
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
    packing.channels = shape[shape.size() - (packing.columns_last ? 2 : 1)] / in_element;
  }
  return packing;
}

}  // namespace kiln::codegen
