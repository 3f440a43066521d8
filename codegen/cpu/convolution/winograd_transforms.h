// The transforms of Winograd's algorithm F(2x2, 3x3).
#pragma once
#include "codegen/emit/kernel_builder.h"

namespace kiln::codegen {

/// Positions in a tile of inputs of F(2x2, 3x3), row by row.
inline constexpr int winograd_positions = 16;

/// V of kiln.convolution in ir/KilnOps.td: the transform of the inputs of a tile, 4x4, row by row.
llvm::SmallVector<mlir::Value> transform_inputs(KernelBuilder& e,
                                                const llvm::SmallVector<mlir::Value>& inputs);

/// The 2x2 results of a tile, row by row, from its sums at all positions (M of kiln.convolution).
llvm::SmallVector<mlir::Value> transform_sums(KernelBuilder& e, const llvm::SmallVector<mlir::Value>& sums);

/// The 3x3 kernels of some columns, one a lane, at one channel.
struct KernelColumns {
  mlir::Value first;  ///< address of the first tap of the first one
  mlir::Value column_stride, row_stride, tap_stride;
  mlir::Value count;  ///< columns from the first one on; lanes beyond them are zeros
  int lanes;
};

/// Stores their transform (U of kiln.convolution) at `place`, a position after the other.
void emit_transformed_kernels(KernelBuilder& e, const KernelColumns& columns, mlir::Value place,
                              mlir::Value position_step);

}  // namespace kiln::codegen
