#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves reshapes of computed values behind the pointwise operations that take them: op(reshape(x), y)
/// becomes reshape(op(x, reshape(y))) where y is in memory, so that its reshape is strides, or a splat.
///
/// Why here: what a kernel computes is not moved inside of it, so a reshape between a product and its bias (a
/// dense layer over the last of three axes, a convolution over one axis) or behind a reduction that kept its
/// axes would cost a kernel and a pass over memory. Behind layout, before fuse, whose only reason it is.
/// Needs: nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_sink_reshapes_pass();

}  // namespace kiln::passes
