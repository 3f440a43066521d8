// Contractions with a B whose columns are contiguous.
#pragma once
#include "codegen/cpu/contraction/even_rows.h"
#include "codegen/emit/tile.h"

namespace kiln::codegen {

/// Contractions with a B whose columns are contiguous in memory. A register of columns at a time is loaded by
/// half squares: a column per lane, and half as many values of k. They are transposed in registers. With
/// fewer than four lanes the squares are whole.
class ColumnSquares {
 public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  struct Columns {
    Value first;                // the address of the first one
    Value stride;               // in elements
    const EvenRows& distances;  // the same
    Value count;                // from the first on
    bool all;                   // whether the tile has no more
  };
  /// The element of a row of A at k.
  using Lhs = std::function<Value(int row, Value k)>;

  ColumnSquares(KernelBuilder& e, const Tile& tile, const Columns& columns, Lhs lhs);
  /// Values of k at a time.
  static int step(int lanes) { return lanes >= 4 ? lanes / 2 : lanes; }
  /// The sums over k in [from, to), at most a chunk, row by row. `has_rest`: the range may end within a step.
  Values sums(Value from, Value to, bool has_rest);

 private:
  /// Whether columns of register v are missing.
  bool is_partial(int v) const { return !columns_.all && v == tile_.vectors - 1; }
  /// Pointers to columns of register v at k, which a loop moves: to every fourth column (EvenRows), or to the
  /// first one if columns are missing.
  Values pointers_to(int v, Value k);
  /// All columns of register v, by its pointers.
  Values columns_of(int v, mlir::ValueRange pointers);
  /// `sums` and the products at k in [from, to). After `last_k`, if there is one, elements are missing.
  Values add(const Values& sums, Value from, Value to, Value last_k);
  /// Adds the products at step() values of k, in ascending order.
  void add_squares(Value k, llvm::ArrayRef<Values> columns, Value last_k, Values& sums);
  void add_products(Value k, int v, Value rhs, Value last_k, Values& sums);

  KernelBuilder& e;
  const Tile& tile_;
  const Columns columns_;
  const Lhs lhs_;
};

}  // namespace kiln::codegen
