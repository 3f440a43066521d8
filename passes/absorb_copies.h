// The pass kiln-absorb-copies: destination passing.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Destination passing: a kernel writes its result to the destination of the copy that follows it. The
/// destination is the interior of a padded array, whose border alone is then filled, or one part of a
/// concatenation or of insertions (the phases of a transposed convolution). An array of several parts begins
/// as `kiln.empty`, or filled if the parts do not cover it, and passes from kernel to kernel. Applies only to
/// results with one use.
///
/// Why here: after fuse, which decides the contents of kernels; before fuse-rows and plan-buffers, which see
/// the arrays that remain. Needs: fuse. Guarantees: no value changes.
std::unique_ptr<mlir::Pass> create_absorb_copies_pass();

}  // namespace kiln::passes
