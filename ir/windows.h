#pragma once
#include "ir/dialect.h"

#include <optional>

namespace kiln::ir {

/// The windows of a pooling that lie side by side, by what looks at the pooled array: slices that have one
/// point of each window.
struct Windows {
  llvm::SmallVector<std::int64_t, 6> size;   ///< of a window along each axis
  llvm::SmallVector<std::int64_t, 6> shape;  ///< how many there are; that of the slices

  std::int64_t points() const { return mlir::ShapedType::getNumElements(size); }
  /// Which point of the windows a slice has, in C order.
  std::int64_t point_of(SliceOp slice) const;
};

/// The windows that the users of `v` look at it through, if they are all such slices, and the slices have
/// every point. What does not fill a window is in none.
std::optional<Windows> windows_over(mlir::Value v);

/// Whether the results of a contraction's tile can be whole windows: a tile of Winograd's algorithm is one of
/// 2x2, and the rows of another contraction's tile may be neighbours in the picture. How many points a tile
/// has registers for is the target's matter (passes/target_model.h).
bool has_windows(mlir::Operation* product, const Windows& windows);
/// The windows through which what follows a product combines its results.
std::optional<Windows> pooled_windows(mlir::Operation* product);

}  // namespace kiln::ir
