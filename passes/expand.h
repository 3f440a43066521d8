#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Rewrites operations that need no kernel of their own kind into others, so that fewer kinds reach code
/// generation:
///
/// * reduce_window: pad with the identity, then strided slices of the padded array combined tap by tap: one
///   tree for up to 16 taps; larger windows go axis by axis, with the array after each axis in between.
/// * convolution: pad with +0, then convolution without padding; one spatial axis becomes two, the first of
///   extent 1.
/// * dot with m * n < 16: broadcast, multiply, reduce over the last axis, as the dialect defines it.
/// * dot or convolution over nothing: +0.
/// * reduce over axes that do not lie side by side: transposed so that they do.
///
/// Why here: after folding (fewer operations), before layout and fusion, which see only what remains.
/// Needs: kiln operations in one block. Guarantees: bits stay. No reduce_window, padded convolution,
/// convolution over one axis, or small dot is left; the reduced axes of a reduce of extent above 1 are
/// neighbours (but for extents of 1), and a reduce has kept axes of extent above 1 behind the last reduced
/// axis of extent above 1 only where its definition sums by chains.
std::unique_ptr<mlir::Pass> create_expand_pass();

}  // namespace kiln::passes
