// Register tiles: the innermost contraction.
#pragma once
#include "codegen/emit/byte_products.h"
#include "codegen/emit/kernel_builder.h"
#include "codegen/emit/plan_fields.h"
#include "runtime/dtype_table.h"

#include <optional>

namespace kiln::codegen {

/// Heights of the tiles of an axis: all `most`, or, if not `even`, the last ones `most - 1`.
struct TileRows {
  int most;
  bool even;
  static constexpr auto fields() {
    return std::tuple(PlanField{"most", &TileRows::most}, PlanField{"even", &TileRows::even});
  }

  /// Calls `body` with the first row of tile number `tile` and the tile's height: once, or, for two heights,
  /// once for each. `larger` is the number of tiles of height `most`.
  void emit(KernelBuilder& e, mlir::Value tile, mlir::Value larger,
            llvm::function_ref<void(mlir::Value first, int rows)> body) const;
};
/// An axis of `m` rows in as few tiles of at most `most` rows as possible, of nearly equal heights. A small
/// last tile would have too few accumulators to hide the latency of FMAs.
struct TileSplit {
  TileSplit(std::int64_t m, int most);
  std::int64_t tiles, larger;
  TileRows rows;
  static constexpr auto fields() {
    return std::tuple(PlanField{"tiles", &TileSplit::tiles}, PlanField{"larger", &TileSplit::larger},
                      PlanField{"rows", &TileSplit::rows});
  }
};

/// The innermost contraction: `rows` by `vectors` accumulators, each a register of `lanes` columns.
///
/// The contracted index is split into chunks of 512. A chunk's sum is one chain of FMAs from +0 in ascending
/// order; chunk sums are added in order (kiln.dot in ir/KilnOps.td). Integers multiply and add.
struct Tile {
  DType dtype;
  int rows;
  int vectors;
  int lanes;
  /// For a contraction of bytes by vectors: elements of A and of B are words, `dtype` is i32.
  std::optional<ByteProducts> bytes = {};
  /// For a contraction by paired32: elements of A and of B are words of two values, `dtype` is f32.
  bool pairs = false;
  /// For a contraction of bytes or by paired32: by the matrix unit.
  bool matrix_unit = false;
  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &Tile::dtype}, PlanField{"rows", &Tile::rows},
                      PlanField{"vectors", &Tile::vectors}, PlanField{"lanes", &Tile::lanes},
                      PlanField{"bytes", &Tile::bytes}, PlanField{"pairs", &Tile::pairs},
                      PlanField{"matrix_unit", &Tile::matrix_unit});
  }

  int width() const { return vectors * lanes; }
  /// KernelRequest::features of a kernel with such a tile.
  std::string features(const CpuTarget& target) const {
    if (matrix_unit) return CpuTarget::amx_features;
    return bytes == ByteProducts::vnni ? target.vnni_feature() : "";
  }
  /// Whether sums pass from the loop over k to the epilogue in memory.
  bool sums_in_memory() const { return pairs || matrix_unit; }
  /// The type of accumulators.
  DType wide() const { return wide_dtype(dtype); }
  std::size_t registers() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(vectors); }

  /// A and B at one k. An element of A, the same for all columns, is loaded right before its use: there are
  /// not enough registers for all rows.
  struct Operands {
    llvm::SmallVector<mlir::Value> rhs;
    std::function<mlir::Value(int row)> lhs_address;
  };
  /// Values that change with k: `operands` replaces the values at k by the values at k + 1.
  using Carried = llvm::SmallVector<mlir::Value>;
  /// The sums over k in [from, to), at most a chunk, row by row.
  llvm::SmallVector<mlir::Value> emit(
      KernelBuilder& e, mlir::Value from, mlir::Value to, const Carried& carried,
      const std::function<Operands(mlir::Value k, Carried& carried)>& operands) const;
  llvm::SmallVector<mlir::Value> emit(KernelBuilder& e, mlir::Value from, mlir::Value to,
                                      const std::function<Operands(mlir::Value k)>& operands) const {
    return emit(e, from, to, {}, [&](mlir::Value k, Carried&) { return operands(k); });
  }
  /// The sums over `k_extent` values of k; `over` gives the sums over a range within a chunk. Totals stay in
  /// registers from chunk to chunk.
  llvm::SmallVector<mlir::Value> sum_over_chunks(
      KernelBuilder& e, std::int64_t k_extent,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value from, mlir::Value to)> over) const;
  /// The same for an extent that is known at run time; `one_chunk`: it is at most a chunk.
  llvm::SmallVector<mlir::Value> sum_over_chunks(
      KernelBuilder& e, mlir::Value k_extent, bool one_chunk,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value from, mlir::Value to)> over) const;
  /// a * b + sum, in one rounding for floating-point types. Of words: the sum of their four products.
  mlir::Value multiply_add(KernelBuilder& e, mlir::Value a, mlir::Value b, mlir::Value sum) const;
  /// The initial value of a total over chunks: -0, to which adding the first chunk's sum changes nothing; of
  /// pairs +0, to which the first step's sum is added.
  mlir::Value initial_total(KernelBuilder& e) const;
  /// total + sum.
  mlir::Value plus(KernelBuilder& e, mlir::Value total, mlir::Value sum) const;
  /// The result's value for a sum: half precision is summed in f32, and rounded here.
  mlir::Value value(KernelBuilder& e, mlir::Value sum) const;

  /// A register of B, which is `stored` in memory: in the tile's dtype, or in one that is widened to it.
  mlir::Value load_columns(KernelBuilder& e, mlir::Value address, DType stored) const;
  /// Appends the first `registers` of B, which is `stored` in memory, at one k of a panel of `panel` columns,
  /// and prefetches them some values of k ahead. A panel may stream from L3 or memory, and an out-of-order
  /// window has too few FMAs to hide that latency.
  void load_rhs(KernelBuilder& e, mlir::Value address, DType stored, int registers, std::int64_t panel,
                llvm::SmallVectorImpl<mlir::Value>& rhs) const;

  /// Lanes that the columns of a panel fill.
  static int lanes_of(const CpuTarget& target, DType dtype, std::int64_t panel) {
    return lanes_of(target.lanes(size_of(dtype)), panel);
  }
  static int lanes_of(int lanes, std::int64_t panel);
  /// Rows whose accumulators fit in registers, beside `vectors` registers of B and one of A.
  static int max_rows(const CpuTarget& target, int vectors);
  /// The rows, `row_bytes` apart, at most `most`, that a tile may have if `limit` of them may map to the same
  /// L1 set. Rows nearly a multiple of a page apart conflict, too, while k advances through their lines.
  static int rows_without_conflicts(std::int64_t row_bytes, int limit, int most = tuning::max_tile_rows);
  /// Cost of the multiply-adds and the epilogue of one register of results, in half cycles.
  static std::int64_t cost_of_register(std::int64_t k_extent) { return k_extent * 2 + 16; }

  /// Values of k that one chain of multiply-adds covers.
  static constexpr std::int64_t chunk = 512;
};

/// Cooperative prefetch: `count` tiles share the prefetching of the next part of packed B, from L3 or memory,
/// while each computes over `length` values of k. This is the slice of tile `number`.
class PrefetchSlice {
 public:
  PrefetchSlice(KernelBuilder& e, mlir::Value next, std::int64_t bytes_of_k, mlir::Value length,
                mlir::Value number, mlir::Value count);
  /// The address after `steps` values of k.
  mlir::Value at(KernelBuilder& e, mlir::Value steps) const;
  /// The position of its first line, for Tile::Carried.
  mlir::Value begin(KernelBuilder& e) const;
  /// Prefetches the line at a position; returns the position at the next k.
  mlir::Value prefetch(KernelBuilder& e, mlir::Value position) const;

 private:
  mlir::Value next_, first_step_, bytes_of_step_;
};

}  // namespace kiln::codegen
