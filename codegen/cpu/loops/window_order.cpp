#include "codegen/cpu/loops/window_order.h"

namespace kiln::codegen {

Dims multiples(std::int64_t step, std::int64_t count) {
  Dims all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i * step);
  return all;
}

std::vector<std::int64_t> window_offsets(std::int64_t channels, std::int64_t channel_stride,
                                         llvm::ArrayRef<Dims> taps) {
  std::vector<std::int64_t> of_taps{0}, offsets;
  for (const Dims& axis : taps) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t outer : of_taps)
      for (const std::int64_t tap : axis) longer.push_back(outer + tap);
    of_taps = std::move(longer);
  }
  for (std::int64_t first = 0; first < channels; first += channel_block)
    for (const std::int64_t tap : of_taps)
      for (std::int64_t c = first; c < std::min(first + channel_block, channels); ++c)
        offsets.push_back(tap + c * channel_stride);
  return offsets;
}

std::vector<std::int64_t> window_offsets(std::int64_t channels, llvm::ArrayRef<std::int64_t> kernel,
                                         std::int64_t channel_stride,
                                         llvm::ArrayRef<std::int64_t> tap_strides) {
  llvm::SmallVector<Dims> taps;
  for (const auto [extent, stride] : llvm::zip(kernel, tap_strides))
    taps.push_back(multiples(stride, extent));
  return window_offsets(channels, channel_stride, taps);
}

}  // namespace kiln::codegen
