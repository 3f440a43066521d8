#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves reshapes of computed values after their pointwise users: op(reshape(x), y) becomes reshape(op(x,
/// reshape(y))) where y is in memory, so that its reshape is strides, or a splat.
///
/// Why here: a kernel applies no view to a value that it computes. A reshape between a contraction and its
/// bias (a dense layer over the last of three axes, a convolution over one axis), or after a reduction that
/// kept its axes, would cost a kernel and a pass over memory. After layout; before fuse, for which alone it
/// exists. Needs: nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_sink_reshapes_pass();

}  // namespace kiln::passes
