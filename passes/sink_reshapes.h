// The pass kiln-sink-reshapes: a reshape must not separate a kernel from its epilogue.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves reshapes of computed values after their pointwise users: op(reshape(x), y) becomes reshape(op(x,
/// reshape(y))). Applies where y is a splat, or in memory so that its reshape is strides.
///
/// Why here: a kernel applies no view to a value that it computes. A reshape would cost a kernel and a pass
/// over memory after a reduction that kept its axes, or between a contraction and its bias. The bias is that
/// of a dense layer over the last of three axes, or of a convolution over one axis. After layout; before
/// fuse, for which alone it exists. Needs: nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_sink_reshapes_pass();

}  // namespace kiln::passes
