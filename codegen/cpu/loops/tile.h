#pragma once
#include "codegen/cpu/loops/kernel_builder.h"

namespace kiln::codegen {

/// How many rows the tiles of an axis have: `most`, or, unless they are even, some of them behind the others
/// one less.
struct TileRows {
  int most;
  bool even;

  /// Calls `body` with the first row of tile number `tile` and with how many it has, `larger` being the
  /// number of tiles that have `most`: once, or if there are two sizes for each.
  void emit(KernelBuilder& e, mlir::Value tile, mlir::Value larger,
            llvm::function_ref<void(mlir::Value first, int rows)> body) const;
  std::string key() const;
};
/// An axis of `m` rows in as few tiles as there can be of no more than `most`, and all of about one size: a
/// small last one's sums would wait for each other.
struct TileSplit {
  TileSplit(std::int64_t m, int most);
  std::int64_t tiles, larger;
  TileRows rows;
};

/// The innermost sum of products: `rows` by `vectors` registers.
///
/// Each output element is one chain of fused multiply-adds from +0 over a chunk of 512 of the contracted
/// index, in ascending order; chunk sums are added in order (kiln.dot in ir/KilnOps.td). Integers multiply
/// and add.
struct Tile {
  DType dtype;
  int rows;
  int vectors;
  int lanes;

  int width() const { return vectors * lanes; }
  std::size_t registers() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(vectors); }

  /// What is multiplied at one k. The left factor of a row, the same for all columns, is loaded right before
  /// it is used: there are not registers for all of them.
  struct Factors {
    llvm::SmallVector<mlir::Value> right;
    std::function<mlir::Value(int row)> address_of_left;
  };
  /// The sums over one chunk of k, row by row.
  llvm::SmallVector<mlir::Value> emit(KernelBuilder& e, mlir::Value from, mlir::Value to,
                                      const std::function<Factors(mlir::Value k)>& factors) const;
  /// The sums over `k_extent` values of k, of which `over` gives those over a part of a chunk at most. They
  /// stay in registers from chunk to chunk.
  llvm::SmallVector<mlir::Value> over_chunks(
      KernelBuilder& e, std::int64_t k_extent,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value from, mlir::Value to)> over) const;
  /// a * b + sum, in one rounding where there is one.
  mlir::Value multiply_add(KernelBuilder& e, mlir::Value a, mlir::Value b, mlir::Value sum) const;
  /// What a total over chunks begins as: -0, so that the first sum stays as it is.
  mlir::Value no_sum(KernelBuilder& e) const;
  /// A chunk's sum added to those before it.
  mlir::Value plus(KernelBuilder& e, mlir::Value total, mlir::Value sum) const;
  /// Half precision is summed in f32; the product's value is the sum, rounded.
  mlir::Value value(KernelBuilder& e, mlir::Value sum) const;

  /// Appends the right factors at one k of a panel of `panel` columns; those `ahead` values of k later are
  /// asked for: they may come from the third cache or memory, and within the processor's own window there are
  /// too few multiply-adds to hide that.
  void load_right(KernelBuilder& e, mlir::Value address, std::int64_t panel,
                  llvm::SmallVectorImpl<mlir::Value>& right) const;

  /// Lanes that a panel's columns fill.
  static int lanes_of(const Target& target, DType dtype, std::int64_t panel);
  /// As many sums as registers hold beside one row of `vectors` right factors and a left factor.
  static int most_rows(const Target& target, int vectors);
  /// In half cycles: a register's multiply-adds, and its end.
  static std::int64_t cost_of_register(std::int64_t k_extent) { return k_extent * 2 + 16; }

  /// Values of k that one chain takes.
  static constexpr std::int64_t chunk = 512;
  static constexpr std::int64_t ahead = 16;
  /// Right factors of more than that come from the third cache or memory each time.
  static constexpr std::int64_t far_bytes = 1024 * 1024;
  /// Chains of multiply-adds that hide each other's latency.
  static constexpr std::int64_t least_sums = 8;
};

/// What one of `count` tiles asks for of the right factors that come next, from the third cache or memory,
/// while it computes over `length` values of k with those before them: its part, evenly.
class PrefetchSlice {
 public:
  PrefetchSlice(KernelBuilder& e, mlir::Value next, std::int64_t bytes_of_k, mlir::Value length,
                mlir::Value number, mlir::Value count);
  /// After `done` values of k.
  void ask(KernelBuilder& e, mlir::Value done) const;

 private:
  mlir::Value next_, first_step_, bytes_of_step_;
};

}  // namespace kiln::codegen
