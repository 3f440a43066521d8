// The level of row tiles.
#pragma once
#include "codegen/cpu/contraction/contraction_kernel.h"
#include "codegen/cpu/contraction/tile_end.h"

namespace kiln::codegen {

/// The level of row tiles: loops over the row tiles of a block.
class RowTiles {
 public:
  using Value = mlir::Value;

  RowTiles(const ContractionKernel& kernel, TileEnd& end) : k_(kernel), end_(end) {}
  /// Emits loops that call `body` with each row tile, whose elements of A begin at `base`. Code is emitted
  /// once for each height.
  void each(const TaskBlock& block, Value base, llvm::function_ref<void(const RowTile&)> body) const;

 private:
  void each_height(Value number,
                   llvm::function_ref<void(Value first, int row_groups, Value begin, Value end)> body) const;

  const ContractionKernel& k_;
  TileEnd& end_;
};

}  // namespace kiln::codegen
