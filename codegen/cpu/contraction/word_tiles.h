// Register tiles of products of words, whose sums are in memory.
#pragma once
#include "codegen/cpu/contraction/contraction_kernel.h"
#include "codegen/emit/pair_products.h"

#include <map>

namespace kiln::codegen {

/// The sums of tiles of words whose totals are in memory: by the matrix unit, or by paired32 on vectors.
class WordTiles {
 public:
  using Value = mlir::Value;

  explicit WordTiles(const ContractionKernel& kernel) : k_(kernel) {}

  struct Operands {
    Value lhs;                        ///< where the row tile reads A, in terms of k = 0
    llvm::SmallVector<Value> panels;  ///< of B, at k = 0
    Value totals;                     ///< of the tile, row by row
    Value from, to;                   ///< words of k
  };
  /// Adds the products of a tile of `rows` rows and `vectors` registers of columns.
  void add(int rows, int vectors, const Operands& operands);

 private:
  const ContractionKernel& k_;
  /// By rows and vectors. The arithmetic on vectors flushes subnormals, and that of the epilogue does not.
  std::map<std::pair<int, int>, FlushingFunction> functions_;
};

}  // namespace kiln::codegen
