// The threads that compute an iteration together.
#pragma once
#include "codegen/emit/kernel_builder.h"

namespace kiln::codegen {

/// The threads that compute an iteration of a kernel's outermost loop together: a warp, or a block. All of
/// them run the same loops, so that shuffles and barriers find all threads. Numbers are i64.
class Team {
 public:
  static constexpr unsigned warp = 32, most = 256;

  Team(KernelBuilder& e, unsigned threads) : e_(e), threads_(threads) {}

  unsigned threads() const { return threads_; }
  unsigned warps() const { return threads_ / warp; }
  /// This thread in the team, and in its warp; its warp in the team.
  mlir::Value thread() { return number_below(threads_); }
  mlir::Value lane() { return number_below(warp); }
  mlir::Value warp_number() { return e_.div(thread(), e_.index(warp)); }

  /// Waits for the threads of a team that is a block; their writes are visible from then on.
  void barrier();

  /// Shuffles of scalars in registers: the value of the lane `lanes` further on (undefined where there is
  /// none), and the value of lane 0.
  mlir::Value from_further(mlir::Value v, int lanes);
  mlir::Value from_first(mlir::Value v);

  /// Memory of the block, `elements` of the dtype.
  mlir::Value shared(DType d, std::int64_t elements);
  mlir::Value shared_element(mlir::Value array, mlir::Value index, DType d);

 private:
  mlir::Value number_below(unsigned count);
  mlir::Value intrinsic(mlir::Type result, llvm::StringRef name, mlir::ValueRange arguments = {});
  mlir::Value shuffle(llvm::StringRef name, mlir::Value v, int by);
  mlir::Value shuffle_word(llvm::StringRef name, mlir::Value word, int by);
  mlir::Value word(std::int32_t v);

  KernelBuilder& e_;
  unsigned threads_;
};

/// A team of this size for each iteration: a block.
GpuLaunch block_per_row(unsigned threads);
/// A warp for each, several in a block: without barriers.
GpuLaunch warp_per_row();

}  // namespace kiln::codegen
