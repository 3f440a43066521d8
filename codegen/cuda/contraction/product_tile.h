#pragma once
#include "codegen/cuda/team.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"

/// What the schedules of matrix products share: which tile of the result a block of threads has, and how the
/// operands of a step of k go through shared memory.
namespace kiln::codegen {

/// Of each axis of the batch, after a product's own parameters.
inline constexpr ParamNames batch_axis_names{"extent", "lhs_stride", "rhs_stride"};
using BatchAxis = KernelParams<batch_axis_names>;

template <class Params>
llvm::SmallVector<BatchAxis> batch_axes(const Params& params, std::size_t rank) {
  llvm::SmallVector<BatchAxis> axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(params.template group<BatchAxis>(i));
  return axes;
}
/// Appends a BatchAxis for each of the first `rank` outer axes of the epilogue; strides are its extra strides
/// 0 and 1.
void append_batch(std::vector<std::int64_t>& params, const Epilogue& epilogue, std::size_t rank);

/// Whether the larger of two tiles pays: it reads each operand fewer times, but there are fewer of them, and
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
            TileExtents tile, llvm::ArrayRef<BatchAxis> batch);
};

/// A or B: how a block brings a step of k to shared memory, in words, each of `values_of_word` neighbours
/// along k. The first value of word i of a thread lies at base + first[i] + k * k_stride, with k that of the
/// step plus k[i].
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

/// Stores the words that each thread of the team has loaded, for A and then for B, between two barriers: the
/// step before is computed, and all words of this one are there.
void stage(KernelBuilder& e, Team& team, const StagedOperand& lhs, const StagedOperand& rhs, DType word,
           mlir::ValueRange words);

}  // namespace kiln::codegen
