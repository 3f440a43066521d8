// The pass kiln-expand: operations without a kernel family become others.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

class TargetModel;

/// Rewrites operations without a kernel family into others, so that fewer kinds reach code generation:
///
/// * reduce_window, unless the target has a kernel for it (reduces_lines()): pad with the identity, then
///   combine strided slices of the padded array tap by tap. One tree for up to 16 taps; larger windows are
///   separated by axis, with an intermediate array after each.
///
/// * convolution: pad with +0, then convolve without padding; one spatial axis becomes two, the first of
///   extent 1.
///
/// * dot by chained512 over one element of k: broadcast, multiply-add to +0. A pointwise operation fuses, and
///   stores a large result non-temporally.
///
/// * dot or convolution over an empty axis: +0.
///
/// * reduce over axes between which kept axes lie: one for each run of axes.
///
/// Why here: after folding (fewer operations), before layout and fusion, which see only what remains. Needs:
/// kiln operations in one block. Guarantees: bits stay. No other reduce_window, padded convolution,
/// convolution over one axis, or dot over one element is left. The reduced axes of a reduce are consecutive.
/// It sums by chains if a kept axis follows them.
std::unique_ptr<mlir::Pass> create_expand_pass(const TargetModel& target);

}  // namespace kiln::passes
