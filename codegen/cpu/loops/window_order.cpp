#include "codegen/cpu/loops/window_order.h"

namespace kiln::codegen {

std::vector<std::int64_t> window_offsets(std::int64_t channels, llvm::ArrayRef<std::int64_t> kernel,
                                         std::int64_t channel_stride,
                                         llvm::ArrayRef<std::int64_t> tap_strides) {
  std::vector<std::int64_t> offsets;
  std::int64_t taps = 1;
  for (std::int64_t k : kernel) taps *= k;
  for (std::int64_t first = 0; first < channels; first += channel_block)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t offset = 0, rest = tap;
      for (std::size_t i = kernel.size(); i-- > 0; rest /= kernel[i])
        offset += rest % kernel[i] * tap_strides[i];
      for (std::int64_t c = first; c < std::min(first + channel_block, channels); ++c)
        offsets.push_back(offset + c * channel_stride);
    }
  return offsets;
}

}  // namespace kiln::codegen
