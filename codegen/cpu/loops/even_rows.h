#pragma once
#include "codegen/cpu/loops/kernel_builder.h"
#include "codegen/cpu/tuning.h"

#include <array>

namespace kiln::codegen {

/// Addresses of the rows of a tile that are one distance apart, where the distance is a parameter: arrays of
/// all widths share a kernel.
///
/// An address of x86 is a base, an index and a constant. Every fourth row has a pointer, which moves with k;
/// the three rows behind it are at indices that stay the same. These multiples of the distance are parameters
/// as well: from products of one parameter, LLVM's loop strength reduction would derive the address of each
/// row from that of the row before it, an addition for each, and additions take issue slots from FMAs.
class EvenRows {
 public:
  static_assert(tuning::most_tile_rows <= 16);

  /// `distances`: bytes from a row to the first, second, third, fourth, eighth and twelfth after it.
  explicit EvenRows(const std::array<mlir::Value, 6>& distances) : distances_(distances) {}

  /// Pointers to every fourth of `rows` rows.
  llvm::SmallVector<mlir::Value> pointers(KernelBuilder& e, mlir::Value first, int rows) const {
    llvm::SmallVector<mlir::Value> all{first};
    for (int r = 4; r < rows; r += 4) all.push_back(e.byte_offset(first, distances_[2 + r / 4]));
    return all;
  }
  /// The address of row r.
  mlir::Value address(KernelBuilder& e, mlir::ValueRange pointers, int r) const {
    const mlir::Value pointer = pointers[static_cast<unsigned>(r / 4)];
    return r % 4 == 0 ? pointer : e.byte_offset(pointer, distances_[static_cast<std::size_t>(r % 4 - 1)]);
  }

 private:
  std::array<mlir::Value, 6> distances_;
};

}  // namespace kiln::codegen
