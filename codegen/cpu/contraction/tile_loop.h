// The level of tiles.
#pragma once
#include "codegen/cpu/contraction/staging.h"
#include "codegen/cpu/contraction/tile_end.h"
#include "codegen/cpu/contraction/word_tiles.h"

namespace kiln::codegen {

/// The level of tiles: the sums of a tile over a range of k, in registers, and their way to the epilogue.
/// Totals of several chunks of k are in memory.
class TileLoop {
 public:
  using Value = mlir::Value;

  TileLoop(const ContractionKernel& kernel, const Staging& staging, TileEnd& end);

  /// Before the first chunk.
  void clear_totals() const;
  /// A tile over k in [from, to), at most a chunk.
  void compute(const TaskBlock& block, const RowTile& row_tile, ColumnTile columns, Value from, Value to);
  /// After the last tile.
  void end() { words_.end(); }

 private:
  /// Stores the initial total to the first `elements` elements of sums.
  void clear(Value sums, Value elements) const;
  void compute_registers(const TaskBlock& block, const RowTile& row_tile, const ColumnTile& columns,
                         Value from, Value to);
  /// The same with sums that pass to the epilogue in memory.
  void compute_in_memory(const TaskBlock& block, const RowTile& row_tile, const ColumnTile& columns,
                         Value from, Value to);
  /// B of a tile, at k = 0.
  Value rhs_of(const RowTile& row_tile, const ColumnTile& columns) const;
  /// The epilogue of sums in memory, after the last chunk.
  void finish(Value sums, const RowTile& row_tile, const ColumnTile& columns, Value to) const;
  /// Where the totals of a tile are: in the order in which tiles are computed.
  Value totals_of(const RowTile& row_tile, const ColumnTile& columns) const;
  llvm::SmallVector<Value> sums_over(const TaskBlock& block, const RowTile& row_tile,
                                     const ColumnTile& columns, Value from, Value to);
  /// The addresses of the tile's panels of B.
  llvm::SmallVector<Value> panels_of(const ColumnTile& columns, Value rhs) const;
  PrefetchSlice slice_of(const TaskBlock& block, Value number, Value rhs, Value from, Value to) const;

  const ContractionKernel& k_;
  const Staging& staging_;
  TileEnd& end_;
  WordTiles words_;
  Value sums_;  // of a tile, for an epilogue that is a loop
};

}  // namespace kiln::codegen
