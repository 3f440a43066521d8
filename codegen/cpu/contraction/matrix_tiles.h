// Tiles of products of words on the matrix unit.
#pragma once
#include "codegen/cpu/contraction/contraction_kernel.h"
#include "codegen/target/matrix_unit.h"

namespace kiln::codegen {

/// The tiles of a kernel on the matrix unit. Its registers keep the shape of the last tile, since a change of
/// shape takes as long as some twenty products.
class MatrixTiles {
 public:
  explicit MatrixTiles(const ContractionKernel& kernel);

  /// Adds the products of a tile of `rows` rows and `vectors` registers of columns to its totals, or, at the
  /// first word of k, writes them.
  void add(int rows, int vectors, const WordOperands& operands);
  /// After the last tile: releases the registers.
  void end();

 private:
  const ContractionKernel& k_;
  mlir::Value shape_;  // memory: the shape of the registers, 0 for none
};

}  // namespace kiln::codegen
