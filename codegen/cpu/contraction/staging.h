#pragma once
#include "codegen/cpu/contraction/row_tiles.h"

namespace kiln::codegen {

/// The level of staging: A and B of a block, packed or copied to scratch memory for a range of k, where the
/// kernel does that, and where a tile reads them.
class Staging {
 public:
  using Value = mlir::Value;

  Staging(const ContractionKernel& kernel, const RowTiles& rows);

  /// Packs B of the column block.
  void pack_rhs(const TaskBlock& block, Value from, Value to) const;
  /// Packs A of the row block. Its elements at consecutive k are on lines of their own, which several row
  /// tiles share: some values of k at a time, so that these lines are still in L2 for the next row tile.
  void pack_lhs(const TaskBlock& block, Value from, Value to) const;
  /// Copies A of the row block.
  void copy_lhs(const TaskBlock& block, Value from, Value to) const;

  /// The columns of a tile, over k from `from` on.
  ColumnTile columns(const TaskBlock& block, Value number, Value from) const;
  /// Where a row tile reads A, in terms of k = 0.
  Value lhs_of(const RowTile& row_tile, Value from) const;
  /// Totals of the chunks of k, if there are several.
  Value totals() const { return totals_; }

 private:
  /// Where the packed A of a row tile would begin at k = 0.
  Value strip_of(const RowTile& row_tile, Value from) const;
  /// Packs A's elements of a tile's rows at one k, from those of its first row at `in`: in registers as far
  /// as rows are neighbours in memory. A register that is not full overwrites what follows, which is packed
  /// later.
  void pack_rows(int rows, Value in, Value out) const;
  void copy_rows(const RowTile& row_tile, Value from, Value to) const;

  const ContractionKernel& k_;
  const RowTiles& rows_;
  Value totals_, packed_, copies_, strips_;  // scratch memory: of the tiles, B, A copied, A packed
};

}  // namespace kiln::codegen
