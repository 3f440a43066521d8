// The pass kiln-sink-reshapes: a reshape must not separate a kernel from its epilogue.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves reshapes of computed values after their pointwise users: op(reshape(x), y) becomes reshape(op(x,
/// reshape(y))). Applies where y is a splat, or in memory so that its reshape is strides.
///
/// Why here: a kernel applies no view to a value that it computes. A reshape would cost a kernel and a pass
/// over memory between a contraction and its bias (a dense layer over the last of three axes, a convolution
/// over one axis), or after a reduction that kept its axes. After layout; before fuse, for which alone it
/// exists. Needs: nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_sink_reshapes_pass();

}  // namespace kiln::passes
