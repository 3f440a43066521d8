// Convolutions, as depthwise, line or implicit-GEMM kernels. In the last, channels are last, rows are the
// batch and the output positions, and the contracted index finds A through a table of offsets.
#include "codegen/cpu/contraction/contraction.h"
#include "codegen/cpu/convolution/depthwise.h"
#include "codegen/cpu/convolution/line_convolution.h"
#include "codegen/emit/window_order.h"
#include "ir/windows.h"
#include "runtime/fail.h"

namespace kiln::codegen {
namespace {

/// A convolution with packed weights, as far as all of its kernels read it.
struct PackedConvolution {
  ir::PackedConvolutionOp root;
  std::int64_t values_of_word;  // of x and w
  ir::View x;
  unsigned rhs;                                 // the fusion's argument
  llvm::ArrayRef<std::int64_t> packed, result;  // shapes
  std::size_t channel;                          // the axis of x and of the result
  Dims lhs_strides, tap_strides;                // of x along the images and the spatial axes; of taps

  explicit PackedConvolution(ir::PackedConvolutionOp op)
      : root(op),
        values_of_word(ir::values_of_word(op.getX(), op.getResult())),
        x(in_words(ir::view_of(op.getX()), values_of_word)),
        packed(ir::ranked(op.getW()).getShape()),
        result(ir::ranked(op.getResult()).getShape()) {
    const ir::View w = ir::view_of(op.getW());
    if (!w.is_contiguous()) fail_internal("a packed operand is read through a window");
    rhs = llvm::cast<mlir::BlockArgument>(w.base).getArgNumber();
    const bool channels_first = op.getChannelsFirst();
    channel = channels_first ? 1 : result.size() - 1;
    const auto spatial = llvm::ArrayRef(x.strides).slice(channels_first ? 2 : 1, op.getKernel().size());
    lhs_strides.push_back(x.strides[0]);
    for (auto [step, stride, dilate] : llvm::zip(spatial, op.getStride(), op.getDilate())) {
      lhs_strides.push_back(step * stride);
      tap_strides.push_back(step * dilate);
    }
  }
};

LineConvolution along_lines(const PackedConvolution& c) {
  auto root = c.root;
  if (c.x.strides.back() != 1) fail_internal("the points of a line are not contiguous");
  Dims lhs_strides = c.lhs_strides, tap_strides = c.tap_strides;
  lhs_strides.pop_back();
  lhs_strides.insert(lhs_strides.begin() + 1, 0);  // all output channels of a group share the input
  const std::int64_t groups = c.packed[0], channels = c.x.shape[c.channel] / groups,
                     phases = root.getStride().back();
  // The offsets of the last axis are first points of a line, each then found in its phase.
  tap_strides.back() = root.getDilate().back();
  auto taps = taps_of(root.getKernel(), tap_strides);
  for (std::int64_t& point : taps.back())
    point = point % phases * c.x.strides[1 + root.getKernel().size()] + point / phases;
  return {.lhs = c.x,
          .rhs = c.rhs,
          .lhs_strides = lhs_strides,
          .offsets = window_offsets(channels, c.x.strides[c.channel], taps),
          .input_lines = c.packed[2] / root.getKernel().back() * phases,
          .groups = groups,
          .lhs_group = channels * c.x.strides[c.channel],
          .channels = c.result[c.channel] / groups,
          .panel = c.packed[3]};
}

Depthwise by_channel(const PackedConvolution& c) {
  auto root = c.root;
  if (c.x.strides[c.channel] != 1)
    fail_internal("the channels of a depthwise convolution are not contiguous");
  return {.lhs = c.x,
          .rhs = c.rhs,
          .lhs_strides = c.lhs_strides,
          .offsets = window_offsets(1, 1, taps_of(root.getKernel(), c.tap_strides)),
          .row_taps = root.getKernel().back(),
          .tap_stride = c.tap_strides.back(),
          .channels = c.result[c.channel],
          .panel = c.packed[3]};
}

Contraction as_contraction(const PackedConvolution& c) {
  auto root = c.root;
  Contraction contraction;
  Dims lhs_strides = c.lhs_strides;
  if (const auto windows = ir::pooled_windows(root)) {
    contraction.window_points = {0};
    for (std::size_t i = 1; i < c.channel; ++i) {
      std::vector<std::int64_t> longer;
      for (const std::int64_t point : contraction.window_points)
        for (std::int64_t step = 0; step < windows->size[i]; ++step)
          longer.push_back(point + step * lhs_strides[i]);
      contraction.window_points = std::move(longer);
      lhs_strides[i] *= windows->size[i];
    }
  }
  contraction.lhs = c.x;
  contraction.rhs = c.rhs;
  contraction.rhs_dtype = dtype_of_value(root.getW());
  contraction.lhs_strides = lhs_strides;
  contraction.rhs_strides.assign(c.channel, 0);
  contraction.groups = c.packed[0];
  contraction.panels = c.packed[1];
  contraction.k_extent = c.packed[2];
  contraction.panel = c.packed[3];
  contraction.columns = c.result[c.channel] / contraction.groups;
  const std::int64_t channels = c.x.shape[c.channel] / contraction.groups;
  contraction.lhs_group = channels * c.x.strides[c.channel];
  // With one tap the contracted index is the channel.
  if (llvm::all_of(root.getKernel(), [](std::int64_t k) { return k == 1; }))
    contraction.k_stride = c.x.strides[c.channel];
  else  // a tap has all of its words, as in the packed weights (passes/layout.cpp)
    contraction.k_offsets =
        window_offsets(channels, c.x.strides[c.channel], taps_of(root.getKernel(), c.tap_strides),
                       c.values_of_word > 1 ? std::max<std::int64_t>(channels, 1) : channel_block);
  contraction.lhs_elements = mlir::ShapedType::getNumElements(c.x.shape);
  contraction.values_of_word = c.values_of_word;
  return contraction;
}

}  // namespace

Launch launch_convolution(ir::FusionOp fusion, ir::PackedConvolutionOp root, const CpuTarget& target) {
  const PackedConvolution c(root);
  if (root.getChannelsFirst())
    return launch_line_convolution(fusion, root.getResult(), along_lines(c), target);
  if (is_depthwise(root)) return launch_depthwise(fusion, root.getResult(), by_channel(c), target);
  return launch_contraction(fusion, root.getResult(), as_contraction(c), "convolution", target);
}

}  // namespace kiln::codegen
