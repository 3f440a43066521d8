// View operations as strides on a buffer.
#pragma once
#include "ir/dialect.h"

#include <llvm/ADT/DenseMap.h>

#include <optional>

namespace kiln::ir {

/// The longest chain of view operations that is folded into one view. It bounds the work for a value, so that
/// compiling stays linear in the size of the graph.
inline constexpr std::size_t max_view_chain = 32;

/// A strided view of a tensor: element (i0, i1, ...) is element `offset + sum i_d * strides[d]` of the base
/// in C order. Stride 0 broadcasts.
struct View {
  mlir::Value base;
  std::int64_t offset = 0;
  llvm::SmallVector<std::int64_t, 6> shape;
  llvm::SmallVector<std::int64_t, 6> strides;

  static View whole(mlir::Value base);
  /// Whether offset and strides describe an array in C order.
  bool is_contiguous() const;
};

/// Whether a view is one of words, along its last axis; a word has `values` elements.
bool is_of_words(const View& view, std::int64_t values);

/// `v` as a view, through the longest chain of view operations that strides can express, up to
/// max_view_chain. Any other value is a view of itself.
View view_of(mlir::Value v);

/// Whether a view of weights (o, c, kernel...) exchanges the first two axes, if it has all output and all
/// input channels of its base and some of its taps. Nothing for other views.
std::optional<bool> exchanges_channels(const View& weights);

/// The interior of a padded array (the operand's elements), and the slice that an insert replaces, as views
/// of the result.
View inner_of(PadOp pad);
View replaced_by(InsertOp insert);

/// The operand whose memory the result aliases, outside of fusions: the operand of a reshape or check_bounds,
/// and the destination of a fusion's insert.
std::optional<unsigned> aliased_operand(mlir::OpResult result);
/// The alias root: the value that owns the memory of `v`.
mlir::Value memory_of(mlir::Value v);

/// memory_of() for many values of a block, in constant time on average. A chain of aliases is as long as the
/// concatenation whose parts it passes through. Valid while the operands of aliases do not change.
class AliasRoots {
 public:
  mlir::Value of(mlir::Value v);

 private:
  llvm::DenseMap<mlir::Value, mlir::Value> roots_;  // of aliases
};

/// Applies view operation `op` to `view`, a view of its operand; nothing if strides cannot express the result
/// (a reshape that merges non-contiguous axes).
std::optional<View> apply_view_op(mlir::Operation* op, const View& view);

/// Collapses adjacent axes that are contiguous under every list of `strides`, and drops extents of 1.
/// `strides[k]` and `extents` are outermost first and of one length. Axes preceding `boundary` (0: none) are
/// not collapsed with axes from it on; it is updated.
void collapse_axes(llvm::SmallVectorImpl<std::int64_t>& extents,
                   llvm::SmallVectorImpl<llvm::SmallVector<std::int64_t, 6>>& strides,
                   std::size_t* boundary = nullptr);

}  // namespace kiln::ir
