// The layout in memory in which a convolution, or a reduction of windows, is computed.
#pragma once
#include "ir/dialect.h"
#include "passes/target_model.h"

#include <llvm/ADT/SmallVector.h>

#include <cstdint>

namespace kiln::passes {

/// The transpose from (n, c, spatial...) to (n, spatial..., c), and back.
llvm::SmallVector<std::int64_t> channels_last_order(std::int64_t rank);
llvm::SmallVector<std::int64_t> channels_first_order(std::int64_t rank);

/// The layout of a convolution. All but the last have the channels first, for inputs that are arguments.
enum class ConvolutionLayout {
  lines,         ///< vectors run along lines
  images,        ///< a 1x1 convolution as the contraction of weights and images
  planes,        ///< a depthwise convolution along lines
  channels_last  ///< between two transposes
};
ConvolutionLayout layout_of(ir::ConvolutionOp op, const TargetModel& target);

/// Whether the target reduces windows along the lines of the argument that is the operation's input.
bool reduces_lines(ir::ReduceWindowOp op, const TargetModel& target);

/// Whether each channel of the input gives one of the result.
bool is_depthwise(ir::ConvolutionOp op);
/// Whether each point of the result is computed from the point of the input at the same place.
bool has_one_line(ir::ConvolutionOp op);
/// The number of points of a channel of an image.
std::int64_t points_of_channel(mlir::RankedTensorType images);

/// The convolution's input, without its padding by zeros if it has one.
struct UnpaddedInput {
  mlir::Value x;
  llvm::SmallVector<std::int64_t, 6> low;  ///< the padding of the spatial axes
};
UnpaddedInput unpadded_input(ir::ConvolutionOp op);

/// `x` with `more` elements at the end of an axis: of its padding if it has one, else zeros. `x` itself for
/// 0.
mlir::Value lengthened(mlir::OpBuilder& builder, mlir::Value x, std::size_t axis, std::int64_t more);
/// The same with zeros, whatever the padding of `x`.
mlir::Value with_zeros(mlir::OpBuilder& builder, mlir::Value x, std::size_t axis, std::int64_t more);

}  // namespace kiln::passes
