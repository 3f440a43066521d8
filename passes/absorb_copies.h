#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Destination passing: a kernel writes its result to where a copy would bring it. That is the interior of a
/// padded array, of which only the border is left to fill, or the kernel's part of an array of several: of a
/// concatenation, or of insertions (the phases of a transposed convolution). That begins as `kiln.empty`, or
/// filled where the parts leave something, and passes from kernel to kernel. Only results without another use.
///
/// Why here: after fuse, which decides what a kernel computes; before fuse-rows and plan-buffers, which see
/// the arrays that remain. Needs: fuse. Guarantees: no value changes.
std::unique_ptr<mlir::Pass> create_absorb_copies_pass();

}  // namespace kiln::passes
