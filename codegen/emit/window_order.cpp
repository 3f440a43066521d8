// Offsets of taps in the order of a convolution's sum.
#include "codegen/emit/window_order.h"

namespace kiln::codegen {

llvm::SmallVector<Dims> taps_of(llvm::ArrayRef<std::int64_t> kernel,
                                llvm::ArrayRef<std::int64_t> tap_strides) {
  llvm::SmallVector<Dims> taps;
  for (const auto [extent, stride] : llvm::zip(kernel, tap_strides)) {
    Dims& axis = taps.emplace_back();
    for (std::int64_t i = 0; i < extent; ++i) axis.push_back(i * stride);
  }
  return taps;
}

std::vector<std::int64_t> window_offsets(std::int64_t channels, std::int64_t channel_stride,
                                         llvm::ArrayRef<Dims> taps, std::int64_t block) {
  std::vector<std::int64_t> of_taps{0}, offsets;
  for (const Dims& axis : taps) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t outer : of_taps)
      for (const std::int64_t tap : axis) longer.push_back(outer + tap);
    of_taps = std::move(longer);
  }
  for (std::int64_t first = 0; first < channels; first += block)
    for (const std::int64_t tap : of_taps)
      for (std::int64_t c = first; c < std::min(first + block, channels); ++c)
        offsets.push_back(tap + c * channel_stride);
  return offsets;
}

}  // namespace kiln::codegen
