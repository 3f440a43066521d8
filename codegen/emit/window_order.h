// The order of a convolution's contracted index.
#pragma once
#include "codegen/emit/loop_nest.h"

namespace kiln::codegen {

/// The channels that lie next to each other in the contracted index of a convolution.
inline constexpr std::int64_t channel_block = 16;

/// For each axis the offsets of the kernel's taps, `tap_strides` apart.
llvm::SmallVector<Dims> taps_of(llvm::ArrayRef<std::int64_t> kernel,
                                llvm::ArrayRef<std::int64_t> tap_strides);

/// The contracted index of a convolution, as kiln.convolution orders it: blocks of `block` channels, then the
/// kernel's axes, then the channel within the block. Entry k is the offset of that channel and tap, given the
/// stride of a channel and the offsets of the taps of each axis.
std::vector<std::int64_t> window_offsets(std::int64_t channels, std::int64_t channel_stride,
                                         llvm::ArrayRef<Dims> taps, std::int64_t block = channel_block);

}  // namespace kiln::codegen
