#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Lets kernels write where a copy would have brought their results: into the middle of a padded array, of
/// which a border is left to fill, and into their part of a concatenated one, which begins as `kiln.empty`
/// and passes from kernel to kernel. Only results that nothing else reads.
///
/// Why here: after fuse, which decides what a kernel computes; before strip-mine and plan-buffers, which see
/// the arrays that remain. Needs: fuse. Guarantees: no value changes.
std::unique_ptr<mlir::Pass> create_absorb_copies_pass();

}  // namespace kiln::passes
