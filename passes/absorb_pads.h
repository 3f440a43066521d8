#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves a pad into the fusion whose result it alone reads: the kernel then writes into the middle of the
/// padded array, and of the pad a border is left to fill.
///
/// Why here: after fuse, which decides what a kernel computes; before strip-mine and plan-buffers, which see
/// the arrays that remain. Needs: fuse. Guarantees: no value changes.
std::unique_ptr<mlir::Pass> create_absorb_pads_pass();

}  // namespace kiln::passes
