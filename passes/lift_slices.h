#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves the windows of a pooling up to the product that is pooled: slice(op(x, y)) becomes op(slice(x),
/// slice(y)), where the slices are windows side by side (ir/windows.h) and lead through pointwise operations
/// to nothing but a product whose kernel has all points of a window at once. Each operation stands there once
/// for each point then; together they compute as many elements as before.
///
/// Why here: what a kernel computes is not moved inside of it, but for the results of its product: there a
/// slice is a name for some of the registers. Behind layout, before fuse, whose only reason it is.
/// Needs: nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_lift_slices_pass();

}  // namespace kiln::passes
