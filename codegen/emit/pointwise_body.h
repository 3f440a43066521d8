// The computation of a pointwise fusion at a point.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/scalar_expr.h"
#include "codegen/math/math.h"

#include <optional>
#include <vector>

namespace kiln::codegen {

/// A gather: accesses of x and of the indices, which x's addresses depend on.
struct GatherLeaf {
  std::size_t number;  // among the gathers
  std::size_t x_access, index_access;
  std::int64_t axis_stride, axis_extent;
  DType index_dtype;
};

/// The computation of a pointwise fusion at a point, whatever loops lead there. Its accesses are the nest's:
/// of the expression's leaves, then of the outputs.
struct PointwiseBody {
  ScalarExpr expr;
  std::vector<std::size_t> leaf_access;
  std::vector<std::optional<GatherLeaf>> gathers;  // per leaf
  std::size_t first_output;
  int random_state;  // operand

  bool uses_random() const { return !expr.counter_offsets().empty(); }
  /// Its parameters follow the nest's.
  void append_params(std::vector<std::int64_t>& params) const;
};

/// A pointwise fusion as a box with one body for all points. No axes are merged.
struct PointwiseFusion {
  explicit PointwiseFusion(ir::FusionOp fusion);

  Dims extents;
  std::vector<StridedAccess> accesses;
  PointwiseBody body;
};

/// Emits the body at points of a nest.
class PointwiseEmitter {
 public:
  /// Loads the random state, if the body uses it, and the strides and extents that gathers need. They are
  /// loaded before loops: LLVM could not hoist the loads, as it does not know that a loop has a first turn.
  PointwiseEmitter(KernelBuilder& e, const PointwiseBody& body, const LoopNest& nest, const KernelArgs& args);

  /// The outputs at a point. `software_prefetch`: of operands that stream from memory.
  llvm::SmallVector<mlir::Value> values(LoopPoint& at, bool software_prefetch = false);
  /// The outputs at each of several points, operation by operation.
  std::vector<llvm::SmallVector<mlir::Value>> values(llvm::MutableArrayRef<LoopPoint> points,
                                                     bool software_prefetch = false);

 private:
  /// `words` belong to the leaf's counter, once they are computed.
  mlir::Value random(const Leaf& leaf, LoopPoint& at, std::size_t access, std::optional<PhiloxWords>& words);
  mlir::Value gather(const Leaf& leaf, LoopPoint& at, const GatherLeaf& g);

  KernelBuilder& e;
  const PointwiseBody& body_;
  std::size_t first_param_;
  mlir::Value params_, seed_, counter_;
  /// By gather: the stride between its indices' elements, and the last index.
  struct GatheredAxis {
    mlir::Value stride, last;
  };
  llvm::SmallVector<GatheredAxis, 1> gathered_axes_;
};

}  // namespace kiln::codegen
