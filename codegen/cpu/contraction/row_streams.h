// Contractions of few rows that read B in the order of memory.
#pragma once
#include "codegen/emit/tile.h"

namespace kiln::codegen {

/// Contractions of few rows of A that read B in the order of memory. Several rows of B are read side by side,
/// each over a block of columns; their products are added to sums in L1. A tile with sums in registers would
/// read a few lines of each row of B instead. If rows are a multiple of a page apart, these lines compete for
/// the same sets of L1. Hardware prefetchers stop at the end of a page and do not see a stream.
class RowStreams {
 public:
  using Value = mlir::Value;

  struct Operands {
    std::function<Value(int row, Value k)> lhs;  // an element of A
    Value rhs;                                   // the address of B's first column at k = 0
    Value rhs_k_stride;                          // in elements
  };
  /// Gets the sums of all rows, lanes along the columns from `column` on.
  using Store = llvm::function_ref<void(llvm::ArrayRef<Value> sums, Value column, Value mask)>;

  /// `tile` has all rows, and is as wide as a block of columns.
  RowStreams(KernelBuilder& e, const Tile& tile, Operands operands);
  /// The products of the first `columns` columns, at most one block.
  void emit(Value k_extent, bool one_chunk, Value columns, Store store);

  /// Rows of B that are read side by side, of `rows` of A: whose elements at these k stay in registers.
  static int rows_together(int rows);

 private:
  using Values = llvm::SmallVector<Value>;
  /// Sums on the stack, of a row of A each.
  Values arrays();
  void fill(const Values& sums, Value columns, Value number);
  /// Adds the products at k in [from, to), at most a chunk, to sums of 0.
  void add_chunk(const Values& sums, Value from, Value to, Value columns);
  /// Adds the products at `count` values of k.
  void add_rows(const Values& sums, Value k, int count, Value columns);
  Value at(Value array, Value column) { return e.element(array, column, tile_.wide()); }
  Value load(Value array, Value column) { return e.load(at(array, column), tile_.wide(), tile_.lanes); }
  void store(Value sum, Value array, Value column) {
    e.store(sum, at(array, column), tile_.wide(), tile_.lanes);
  }

  KernelBuilder& e;
  const Tile& tile_;
  const Operands operands_;
};

}  // namespace kiln::codegen
