#pragma once
#include "codegen/emit.h"

namespace kiln::codegen {

/// The innermost product of dot and convolution: `rows` by `vectors` registers of sums.
///
/// Each output element is one chain of fused multiply-adds from +0 over a chunk of 512 of the contracted
/// index, in ascending order; chunk sums are added in order (kiln.dot in ir/KilnOps.td). Integers multiply
/// and add.
struct Tile {
  DType dtype;
  int rows;
  int vectors;
  int lanes;

  int width() const { return vectors * lanes; }

  /// `left(r, k)` is the scalar of row r at k; `right(k)` the address of the tile's first column at k.
  /// Returns rows * vectors sums, row by row.
  llvm::SmallVector<mlir::Value> emit(Emit& e, mlir::Value k_extent,
                                      const std::function<mlir::Value(int row, mlir::Value k)>& left,
                                      const std::function<mlir::Value(mlir::Value k)>& right) const;
};

}  // namespace kiln::codegen
