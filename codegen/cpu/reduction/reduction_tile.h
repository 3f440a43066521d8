// Tiles of results that share elements of a reduced operand.
#pragma once
#include "codegen/emit/reduction_body.h"

#include <vector>

namespace kiln::codegen {

/// Lanes along the reduced axis, in the order interleaved64, for several results together: a tile of rows and
/// columns of the kept axes. Each block of elements is added to all results of the tile before the next
/// block, so that shared elements are loaded once. The partial results of all are in memory, in L1.
class ReductionTile : ReductionEmitter {
 public:
  ReductionTile(KernelBuilder& e, const Reduction& red, mlir::Value params);

  /// Computes the results of these rows from `column` on: a tile, or rows of one.
  void reduce(llvm::ArrayRef<LoopNest::Row> rows, mlir::Value column);
  /// The results at a point of the tile, counted in C order.
  Values result(mlir::Value point);

 private:
  /// The results of the elements [begin, end), a block of a level, at all points.
  void block(int level, mlir::Value begin, mlir::Value end);
  void each_point(const KernelBuilder::LoopBody& body);
  /// Adds the elements [begin, end) to the partial results of each point.
  void add_elements(mlir::ValueRange parts, mlir::Value begin, mlir::Value end);
  void add_lanes(mlir::ValueRange parts, mlir::Value begin, const Position& position);
  /// Leaf i of `before` at each point.
  Values leaf_at_points(std::size_t i, const Position& position);
  /// The same at the points of a row from `first` on, whose elements are next to each other: squares of them
  /// are transposed in registers.
  Values load_squares(LoopPoint& first, std::size_t i, const Position& position);

  std::vector<LoopPoint> points_;
  llvm::SmallVector<Values> parts_;  // of each level: 64 partial results of each point
  Values results_;                   // of each point
};

}  // namespace kiln::codegen
