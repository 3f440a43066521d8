// Gradients of the weights of convolutions: a product of the input, as an implicit matrix of taps by places,
// with the gradient of the result. Rows are the taps and input channels, columns the output channels, and the
// contracted index runs over the places of all images. Where places are not evenly spaced in the input, a
// table has their offsets.
#include "codegen/cpu/kernels/contraction.h"
#include "codegen/cpu/kernels/depthwise_weights.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

/// The offsets of all points of these extents, in C order.
std::vector<std::int64_t> offsets_of(llvm::ArrayRef<std::int64_t> extents,
                                     llvm::ArrayRef<std::int64_t> strides) {
  std::vector<std::int64_t> offsets{0};
  for (auto [extent, stride] : llvm::zip(extents, strides)) {
    std::vector<std::int64_t> longer;
    longer.reserve(offsets.size() * static_cast<std::size_t>(extent));
    for (const std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < extent; ++i) longer.push_back(offset + i * stride);
    offsets = std::move(longer);
  }
  return offsets;
}

/// Whether the points of these extents lie at multiples of the last stride, in C order.
bool is_even(llvm::ArrayRef<std::int64_t> extents, llvm::ArrayRef<std::int64_t> strides) {
  std::int64_t expected = strides.back() * extents.back();
  for (std::size_t i = extents.size() - 1; i-- > 0; expected *= extents[i])
    if (extents[i] != 1 && strides[i] != expected) return false;
  return true;
}

}  // namespace

Launch launch_weights_product(ir::FusionOp fusion, ir::WeightsProductOp root, const CpuTarget& target) {
  const auto result = ir::ranked(root.getResult()).getShape();
  const ir::View x = ir::view_of(root.getX()), g = ir::view_of(root.getG());
  if (!g.is_contiguous()) fail_internal("a packed operand is read through a window");
  const llvm::ArrayRef<std::int64_t> places = llvm::ArrayRef(g.shape).drop_back();
  Dims place_strides{x.strides[0]}, tap_strides;
  for (auto [step, stride, dilate] :
       llvm::zip(llvm::ArrayRef(x.strides).drop_front().drop_back(), root.getStride(), root.getDilate())) {
    place_strides.push_back(step * stride);
    tap_strides.push_back(step * dilate);
  }
  const unsigned rhs = llvm::cast<mlir::BlockArgument>(g.base).getArgNumber();
  if (root.getDepthwise()) {
    if (x.strides.back() != 1) fail_internal("the channels of a depthwise convolution are not contiguous");
    return launch_depthwise_weights(fusion, root.getResult(),
                                    {.lhs = x,
                                     .rhs = rhs,
                                     .places = Dims(places),
                                     .place_strides = place_strides,
                                     .taps = offsets_of(result.drop_front().drop_back(), tap_strides),
                                     .channels = result.back()},
                                    target);
  }
  Contraction contraction;
  contraction.lhs = x;
  contraction.rhs = rhs;
  contraction.unpacked = {.row_stride = result.back(), .column_stride = 1};
  contraction.lhs_strides = tap_strides;
  if (root.getTapsFirst()) {
    contraction.lhs_strides.push_back(x.strides.back());
  } else {  // tiles have neighbouring input channels all the same
    contraction.lhs_strides.insert(contraction.lhs_strides.begin(), x.strides.back());
    for (std::size_t i = 0; i < tap_strides.size(); ++i)
      contraction.row_order.push_back(static_cast<std::int64_t>(i) + 1);
    contraction.row_order.push_back(0);
  }
  contraction.rhs_strides.assign(contraction.lhs_strides.size(), 0);
  contraction.k_extent = mlir::ShapedType::getNumElements(places);
  if (is_even(places, place_strides))
    contraction.k_stride = place_strides.back();
  else
    contraction.k_offsets = offsets_of(places, place_strides);
  contraction.columns = result.back();
  contraction.panel = static_cast<std::int64_t>(root.getPanel());
  contraction.panels = llvm::divideCeilSigned(contraction.columns, contraction.panel);
  contraction.lhs_elements = ir::ranked(root.getX()).getNumElements();
  return launch_contraction(fusion, root.getResult(), contraction, "weights", target);
}

}  // namespace kiln::codegen
