// The level of staging: A and B in scratch memory.
#pragma once
#include "codegen/cpu/contraction/row_tiles.h"

namespace kiln::codegen {

/// The level of staging: A and B of a block, and the addresses that a tile reads. If the plan says so, they
/// are packed or copied to scratch memory for a range of k.
class Staging {
 public:
  using Value = mlir::Value;

  Staging(const ContractionKernel& kernel, const RowTiles& rows);

  /// Packs B of the column block.
  void pack_rhs(const TaskBlock& block, Value from, Value to) const;
  /// Packs A of the row block. Each k is on a separate cache line, which several row tiles share. Some values
  /// of k are packed at a time, so that these lines are still in L2 for the next row tile.
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
  /// Packs A's elements of a tile's rows at one k, from its first row's element at `in` on: in registers as
  /// far as rows are contiguous in memory. A register that is not full overwrites the following elements,
  /// which are packed later.
  void pack_rows(int rows, Value in, Value out) const;
  void copy_rows(const RowTile& row_tile, Value from, Value to) const;

  const ContractionKernel& k_;
  const RowTiles& rows_;
  Value totals_, packed_, copies_, strips_;  // scratch memory: of the tiles, B, A copied, A packed
};

}  // namespace kiln::codegen
