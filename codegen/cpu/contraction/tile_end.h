// The level of the epilogue.
#pragma once
#include "codegen/cpu/contraction/contraction_kernel.h"

namespace kiln::codegen {

/// The level of the epilogue: applies it to the sums of a tile, row group by row group, and prefetches its
/// operands while the tile is computed.
class TileEnd {
 public:
  using Value = mlir::Value;
  /// The sum in register i of a tile, or of a row group.
  using Sum = std::function<Value(int i)>;

  TileEnd(const ContractionKernel& kernel, Epilogue& epilogue) : k_(kernel), epilogue_(epilogue) {}

  /// Prepares the epilogue for the tiles at an index of the outer axes.
  void enter(mlir::ValueRange outer);
  /// Prefetches its operands, row by row, a row at each k.
  void prefetch(const RowTile& row_tile, const ColumnTile& columns, Value k);
  /// The epilogue of a tile whose sums are in registers.
  void store(const RowTile& row_tile, const ColumnTile& columns, const Sum& sum);
  /// The same in a loop, with sums in memory.
  void store_from(Value sums, const RowTile& row_tile, const ColumnTile& columns);

  /// Whether the last tile of columns is complete.
  static Value has_all_columns(const ContractionKernel& kernel, const ColumnTile& columns);

 private:
  /// Columns of a tile, with masks of its registers where the code is for any number of columns.
  struct Width {
    int columns;
    llvm::ArrayRef<Value> masks;
  };
  /// Calls `body` with the number of columns of the tile: once, or for two numbers.
  void each_width(const ColumnTile& columns, llvm::function_ref<void(const Width&)> body);
  /// The position of a row group in the epilogue's arrays: its row, after its last outer index if tiles
  /// divide both as one axis.
  using Position = llvm::SmallVector<Value>;
  Position first_position(const RowTile& row_tile);
  Position next(const Position& at);
  /// Whether base addresses are computed for each row group, not for each outer index.
  bool prepares_each_group() const { return k_.plan.rows.joins_axes || k_.plan.rows.groups_are_outer(); }
  void store_group(const RowTile& row_tile, const ColumnTile& columns, const Position& at, const Width& width,
                   const Sum& sum);
  /// Row `row` of the epilogue, made of row r of the group, or, if it pools, of all its rows.
  void store_row(const ColumnTile& columns, int r, Value row, const Width& width, const Sum& sum);

  const ContractionKernel& k_;
  Epilogue& epilogue_;
};

}  // namespace kiln::codegen
