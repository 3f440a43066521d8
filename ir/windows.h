// Windows over the results of contractions.
#pragma once
#include "ir/dialect.h"

#include <optional>

namespace kiln::ir {

/// Adjacent windows of a pooling, recovered from the slices of its input: each slice takes one point of every
/// window.
struct Windows {
  llvm::SmallVector<std::int64_t, 6> size;   ///< extents of one window
  llvm::SmallVector<std::int64_t, 6> shape;  ///< number of windows per axis: the shape of each slice

  std::int64_t points() const { return mlir::ShapedType::getNumElements(size); }
  /// The point that a slice takes, in C order of the window.
  std::int64_t point_of(SliceOp slice) const;
};

/// The windows over `v`, if all its users are such slices and these cover every point of a window. A partial
/// window at the border belongs to none.
std::optional<Windows> windows_over(mlir::Value v);

/// Whether the results of a contraction's tile can be whole windows. A tile of Winograd's algorithm is a
/// window of 2x2; the rows of another contraction's tile may be neighbours in the picture. The number of
/// points that a tile has registers for depends on the target (passes/target_model.h).
bool has_windows(mlir::Operation* product, const Windows& windows);
/// The windows over the result of a contraction, if its register tile holds all their points.
std::optional<Windows> pooled_windows(mlir::Operation* product);

}  // namespace kiln::ir
