// Register tiles by paired32.
#pragma once
#include "codegen/cpu/contraction/contraction_kernel.h"
#include "codegen/emit/pair_products.h"

#include <map>

namespace kiln::codegen {

/// The sums of a tile by Algorithm::paired32, whose totals are in memory. Each shape of tile is a function,
/// because its arithmetic flushes subnormals and the epilogue's does not.
class PairTiles {
 public:
  using Value = mlir::Value;

  explicit PairTiles(const ContractionKernel& kernel) : k_(kernel) {}

  struct Operands {
    Value lhs;                        ///< where the row tile reads A, in terms of k = 0
    llvm::SmallVector<Value> panels;  ///< of B, at k = 0
    Value totals;                     ///< of the tile, row by row
    Value from, to;                   ///< words of k, whole steps
  };
  /// Adds the steps of a tile of `rows` rows and `vectors` registers of columns.
  void add(int rows, int vectors, const Operands& operands);

 private:
  const ContractionKernel& k_;
  std::map<std::pair<int, int>, FlushingFunction> functions_;  // by rows and vectors
};

}  // namespace kiln::codegen
