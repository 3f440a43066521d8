// Tiles of matrix products, for all schedules of contractions.
#pragma once
#include "codegen/cuda/team.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/outer_axes.h"

/// Shared by the schedules of matrix products. A block of threads computes one tile of the result; the
/// operands of each step of k pass through shared memory.
namespace kiln::codegen {

/// Whether the larger of two tiles pays: it reads each operand fewer times. But there are fewer of them, and
/// each thread has code of the epilogue for more elements.
struct TileExtents {
  std::int64_t rows, columns;
};
bool prefers_large_tile(TileExtents result, std::int64_t matrices, TileExtents small, TileExtents large,
                        const Epilogue& epilogue);

/// A block's tile of the result.
struct TilePlace {
  mlir::Value first_row, first_column;
  llvm::SmallVector<mlir::Value> batch_index;
  mlir::Value lhs_offset, rhs_offset;  ///< of the batch, in elements

  /// `number`: of the block. The row tiles of a column tile come one after the other, so that B stays in the
  /// cache.
  TilePlace(KernelBuilder& e, mlir::Value number, mlir::Value row_tiles, mlir::Value column_tiles,
            TileExtents tile, const OuterAxes& batch);
};

/// The elements of the result that a thread has, by number: where they are, and their sums.
struct ThreadElements {
  std::int64_t rows, columns;
  llvm::function_ref<mlir::Value(std::int64_t row)> row_at;
  llvm::function_ref<mlir::Value(std::int64_t column)> column_at;
  llvm::function_ref<mlir::Value(std::int64_t row, std::int64_t column)> sum;
};
/// The epilogue of the elements inside of a result of `rows` by `columns`.
void store_elements(KernelBuilder& e, Epilogue& epilogue, mlir::Value rows, mlir::Value columns,
                    const ThreadElements& elements);

/// A or B: how a block of threads copies a step of k to shared memory. The copy is by words; a word is
/// `values_of_word` neighbours along k. A thread copies several words. The first value of its word i is at
/// base + first[i] + (k[i] + the first k of the step) * k_stride.
struct StagedOperand {
  using Value = mlir::Value;
  Value base, k_stride;
  Value shared;
  llvm::SmallVector<Value> first;   ///< in elements
  llvm::SmallVector<Value> k;       ///< within a step
  llvm::SmallVector<Value> target;  ///< in words of shared memory

  /// Rows of A, or columns of B, in a tile.
  struct Lines {
    Value first;
    Value extent;  ///< of the matrix: lines beyond the last one are read as the last one
    std::int64_t count;
    llvm::function_ref<Value(Value line)> offset_of;
  };
  /// The words of a step along k, and the strides of shared memory.
  struct Step {
    std::int64_t words, values_of_word;
    std::int64_t word_stride, line_stride;
  };
  /// Divides the words of a step among the threads of a team, neighbours in memory to neighbouring threads.
  void divide(KernelBuilder& e, Team& team, const Step& step, const Lines& lines, bool along_k);
};

/// Stores the words that each thread of the team has loaded, for A and then for B, between two barriers.
/// After the first the preceding step is computed; after the second all words of this one are there.
void stage(KernelBuilder& e, Team& team, const StagedOperand& lhs, const StagedOperand& rhs, DType word,
           mlir::ValueRange words);

}  // namespace kiln::codegen
