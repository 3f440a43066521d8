#pragma once
#include "codegen/cpu/loops/loop_nest.h"

namespace kiln::codegen {

/// The contracted index of a convolution, as kiln.convolution orders it: blocks of 16 channels, then the
/// kernel's axes, then the channel within the block. Entry k is the offset of that channel and tap, given the
/// strides of a channel and of a step along each axis.
std::vector<std::int64_t> window_offsets(std::int64_t channels, llvm::ArrayRef<std::int64_t> kernel,
                                         std::int64_t channel_stride,
                                         llvm::ArrayRef<std::int64_t> tap_strides);

}  // namespace kiln::codegen
