// Convolutions, as depthwise, line or implicit-GEMM kernels. In the last, channels are last, rows are the
// batch and the output positions, and the contracted index finds A through a table of offsets.
#include "codegen/cpu/contraction/contraction.h"
#include "codegen/cpu/convolution/depthwise.h"
#include "codegen/cpu/convolution/line_convolution.h"
#include "codegen/emit/window_order.h"
#include "ir/windows.h"
#include "runtime/fail.h"

namespace kiln::codegen {

Launch launch_convolution(ir::FusionOp fusion, ir::PackedConvolutionOp root, const CpuTarget& target) {
  const auto result = ir::ranked(root.getResult()).getShape(), packed = ir::ranked(root.getW()).getShape();
  const ir::View x = ir::view_of(root.getX()), w = ir::view_of(root.getW());
  if (!w.is_contiguous()) fail_internal("a packed operand is read through a window");
  const bool channels_first = root.getChannelsFirst();
  const std::size_t channel = channels_first ? 1 : result.size() - 1;
  const auto spatial = llvm::ArrayRef(x.strides).slice(channels_first ? 2 : 1, root.getKernel().size());
  Dims lhs_strides{x.strides[0]}, tap_strides;
  for (auto [step, stride, dilate] : llvm::zip(spatial, root.getStride(), root.getDilate())) {
    lhs_strides.push_back(step * stride);
    tap_strides.push_back(step * dilate);
  }
  const unsigned rhs = llvm::cast<mlir::BlockArgument>(w.base).getArgNumber();
  if (channels_first) {
    if (x.strides.back() != 1) fail_internal("the points of a line are not contiguous");
    lhs_strides.pop_back();
    lhs_strides.insert(lhs_strides.begin() + 1, 0);  // all output channels of a group share the input
    const std::int64_t groups = packed[0], channels = x.shape[channel] / groups,
                       phases = root.getStride().back();
    // The offsets of the last axis are first points of a line, each then found in its phase.
    tap_strides.back() = root.getDilate().back();
    auto taps = taps_of(root.getKernel(), tap_strides);
    for (std::int64_t& point : taps.back()) point = point % phases * spatial.back() + point / phases;
    return launch_line_convolution(fusion, root.getResult(),
                                   {.lhs = x,
                                    .rhs = rhs,
                                    .lhs_strides = lhs_strides,
                                    .offsets = window_offsets(channels, x.strides[channel], taps),
                                    .input_lines = packed[2] / root.getKernel().back() * phases,
                                    .groups = groups,
                                    .lhs_group = channels * x.strides[channel],
                                    .channels = result[channel] / groups,
                                    .panel = packed[3]},
                                   target);
  }
  if (is_depthwise(root)) {
    if (x.strides[channel] != 1) fail_internal("the channels of a depthwise convolution are not contiguous");
    return launch_depthwise(fusion, root.getResult(),
                            {.lhs = x,
                             .rhs = rhs,
                             .lhs_strides = lhs_strides,
                             .offsets = window_offsets(1, root.getKernel(), 1, tap_strides),
                             .row_taps = root.getKernel().back(),
                             .tap_stride = tap_strides.back(),
                             .channels = result[channel],
                             .panel = packed[3]},
                            target);
  }

  Contraction contraction;
  if (const auto windows = ir::pooled_windows(root)) {
    contraction.window_points = {0};
    for (std::size_t i = 1; i < channel; ++i) {
      std::vector<std::int64_t> longer;
      for (const std::int64_t point : contraction.window_points)
        for (std::int64_t step = 0; step < windows->size[i]; ++step)
          longer.push_back(point + step * lhs_strides[i]);
      contraction.window_points = std::move(longer);
      lhs_strides[i] *= windows->size[i];
    }
  }
  contraction.lhs = x;
  contraction.rhs = rhs;
  contraction.lhs_strides = lhs_strides;
  contraction.rhs_strides.assign(channel, 0);
  contraction.groups = packed[0];
  contraction.panels = packed[1];
  contraction.k_extent = packed[2];
  contraction.panel = packed[3];
  contraction.columns = result[channel] / contraction.groups;
  const std::int64_t channels = x.shape[channel] / contraction.groups;
  contraction.lhs_group = channels * x.strides[channel];
  // With one tap the contracted index is the channel.
  if (llvm::all_of(root.getKernel(), [](std::int64_t k) { return k == 1; }))
    contraction.k_stride = x.strides[channel];
  else
    contraction.k_offsets = window_offsets(channels, root.getKernel(), x.strides[channel], tap_strides);
  contraction.lhs_elements = ir::ranked(root.getX()).getNumElements();
  return launch_contraction(fusion, root.getResult(), contraction, "convolution", target);
}

}  // namespace kiln::codegen
