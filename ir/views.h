#pragma once
#include "ir/dialect.h"

#include <optional>

namespace kiln::ir {

/// A tensor as a strided window on another: element at index (i0, i1, ...) is element `offset + sum i_d *
/// strides[d]` of the base in C order. A stride of 0 repeats.
struct View {
  mlir::Value base;
  std::int64_t offset = 0;
  llvm::SmallVector<std::int64_t, 6> shape;
  llvm::SmallVector<std::int64_t, 6> strides;

  static View whole(mlir::Value base);
  /// Offset 0 and C order: the view is its base under another shape.
  bool is_contiguous() const;
};

/// `v` as a view of the value where the longest chain of movement operations that amounts to strides begins.
/// A value that no such operation made is a view of itself. Stops at `stop_at` operations outside of the
/// chain's block.
View view_of(mlir::Value v);

/// The part of a padded array that its operand is, and that of an array which an insert replaces.
View inner_of(PadOp pad);
View replaced_by(InsertOp insert);

/// The operand whose memory a result outside of fusions is: that of a reshape, which is a name, of a check,
/// and what a fusion inserts into.
std::optional<unsigned> aliased_operand(mlir::OpResult result);
/// The value whose memory `v` is.
mlir::Value memory_of(mlir::Value v);

/// The view that movement operation `op` makes of `view` (a view of its operand); nothing when strides cannot
/// express it (a reshape of a window that is not contiguous enough).
std::optional<View> apply_movement(mlir::Operation* op, const View& view);

/// Joins neighbouring axes that all `strides` lists walk as one and drops extents of 1. `strides[k]` and
/// `extents` are outermost first; all have one length. `boundary` (0 if none) keeps axes before and from it
/// apart.
void collapse_axes(llvm::SmallVectorImpl<std::int64_t>& extents,
                   llvm::SmallVectorImpl<llvm::SmallVector<std::int64_t, 6>>& strides,
                   std::size_t* boundary = nullptr);

}  // namespace kiln::ir
