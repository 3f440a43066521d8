// Register tiles of products of words, whose sums are in memory.
#pragma once
#include "codegen/cpu/contraction/matrix_tiles.h"
#include "codegen/emit/pair_products.h"

#include <map>

namespace kiln::codegen {

/// The sums of tiles of words whose totals are in memory: by the matrix unit, or by paired32 on vectors.
class WordTiles {
 public:
  explicit WordTiles(const ContractionKernel& kernel) : k_(kernel) {
    if (kernel.plan.tile.matrix_unit) matrix_.emplace(kernel);
  }

  /// Whether add() reads no totals at the first word of k.
  bool begins_from_zero() const { return matrix_.has_value(); }
  /// Adds the products of a tile of `rows` rows and `vectors` registers of columns.
  void add(int rows, int vectors, const WordOperands& operands);
  /// After the last tile of the kernel.
  void end() {
    if (matrix_) matrix_->end();
  }

 private:
  const ContractionKernel& k_;
  std::optional<MatrixTiles> matrix_;
  /// By rows and vectors. The arithmetic on vectors flushes subnormals, and that of the epilogue does not.
  std::map<std::pair<int, int>, FlushingFunction> functions_;
};

}  // namespace kiln::codegen
