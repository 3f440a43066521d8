// Addresses of the rows of a tile at one distance.
#pragma once
#include "codegen/emit/kernel_params.h"
#include "codegen/target/tuning.h"

#include <array>

namespace kiln::codegen {

inline constexpr ParamNames even_rows_names{"distance", "rows_1", "rows_2", "rows_3",
                                            "rows_4",   "rows_8", "rows_12"};

/// Addresses of the rows of a tile; neighbours are one distance apart. The distance is a parameter, so that
/// arrays of all widths share a kernel.
///
/// An address of x86 is a base, an index and a constant. Every fourth row has a pointer as its base, which
/// moves with k. The three following rows add an index, which stays the same: 1, 2 or 3 times the distance.
/// These multiples of the distance are parameters as well. From products of one parameter, LLVM's loop
/// strength reduction would derive the address of each row from the preceding row's by an addition, and
/// additions take issue slots from FMAs.
class EvenRows {
 public:
  static_assert(tuning::max_tile_rows <= 16);
  using Params = KernelParams<even_rows_names>;

  /// `distance`: bytes from a row to the next. Missing rows: if there are fewer than four `rows`, a tile
  /// reads the last row in place of each of its first four rows that is missing.
  static void append(std::vector<std::int64_t>& params, std::int64_t distance, std::int64_t rows) {
    const auto to_row = [&](std::int64_t r) {
      return std::min(r, std::max<std::int64_t>(rows - 1, 0)) * distance;
    };
    Params::append(params, {{"distance", distance},
                            {"rows_1", to_row(1)},
                            {"rows_2", to_row(2)},
                            {"rows_3", to_row(3)},
                            {"rows_4", to_row(4)},
                            {"rows_8", to_row(8)},
                            {"rows_12", to_row(12)}});
  }
  /// Rows whose parameters begin at params[first].
  EvenRows(KernelBuilder& e, mlir::Value params, std::int64_t first) {
    const Params p(e, params, first);
    distance_ = p["distance"];
    distances_ = {p["rows_1"], p["rows_2"], p["rows_3"], p["rows_4"], p["rows_8"], p["rows_12"]};
  }

  /// Bytes from a row to the next.
  mlir::Value distance() const { return distance_; }
  /// Pointers to every fourth of `rows` rows.
  llvm::SmallVector<mlir::Value> pointers(KernelBuilder& e, mlir::Value first, int rows) const {
    llvm::SmallVector<mlir::Value> all{first};
    for (int r = 4; r < rows; r += 4)
      all.push_back(e.byte_offset(first, distances_[static_cast<std::size_t>(2 + r / 4)]));
    return all;
  }
  /// The address of row r.
  mlir::Value address(KernelBuilder& e, mlir::ValueRange pointers, int r) const {
    const mlir::Value pointer = pointers[static_cast<unsigned>(r / 4)];
    return r % 4 == 0 ? pointer : e.byte_offset(pointer, distances_[static_cast<std::size_t>(r % 4 - 1)]);
  }

 private:
  mlir::Value distance_;
  std::array<mlir::Value, 6> distances_;
};

}  // namespace kiln::codegen
