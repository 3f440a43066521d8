// Gradients of the weights of convolutions: a product of the input, as an implicit matrix of taps by places,
// with the gradient of the result. Rows are the taps and input channels, columns the output channels, and the
// contracted index runs over the places of all images. Where places are not evenly spaced in the input, a
// table has their offsets.
#include "codegen/cpu/contraction/contraction.h"
#include "codegen/cpu/convolution/depthwise_weights.h"
#include "codegen/emit/window_order.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
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
    return launch_depthwise_weights(
        fusion, root.getResult(),
        {.lhs = x,
         .rhs = rhs,
         .places = Dims(places),
         .place_strides = place_strides,
         .taps = window_offsets(1, 1, taps_of(result.drop_front().drop_back(), tap_strides)),
         .channels = result.back()},
        target);
  }
  Contraction contraction;
  contraction.lhs = x;
  contraction.rhs = rhs;
  contraction.rhs_dtype = dtype_of_value(root.getG());
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
  Dims extents(places);
  llvm::SmallVector<Dims> strides{place_strides};
  ir::collapse_axes(extents, strides);
  if (extents.size() <= 1)
    contraction.k_stride = extents.empty() ? 1 : strides[0][0];
  else
    contraction.k_offsets = window_offsets(1, 1, taps_of(places, place_strides));
  contraction.columns = result.back();
  contraction.panel = static_cast<std::int64_t>(root.getPanel());
  contraction.panels = llvm::divideCeilSigned(contraction.columns, contraction.panel);
  contraction.lhs_elements = ir::ranked(root.getX()).getNumElements();
  return launch_contraction(fusion, root.getResult(), contraction, "weights", target);
}

}  // namespace kiln::codegen
