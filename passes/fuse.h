#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Of a fusion, an array of strings: what did not join it, and why.
inline constexpr llvm::StringLiteral refused_attr = "kiln.refused";

/// Makes kernels: every operation that computes or moves elements ends in a kiln.fusion. Outside remain pack,
/// concatenate, pad, insert, scatter, sort, cumulative, loops and branches, constants that are not splats,
/// and reshapes that only rename a buffer.
///
/// * A product (packed_dot, packed_convolution) or a reduce takes the pointwise operations behind it, where
///   one value leaves the kernel.
/// * A reduce takes the pointwise operations in front of it whose values nothing else uses, while the reduced
///   axes still walk as one axis through every operand.
/// * Other pointwise operations, and random numbers and gathers in front of them, join along direct uses; a
///   kernel may have several results.
/// * Splats and iota are cloned into every kernel that uses them (iota: pointwise ones); data movement is
///   cloned as a view where it amounts to strides on a buffer, and is a copy of its own where it does not.
///   What a kernel computes is never moved inside of it.
///
/// With `fuse` false every operation is a kernel of its own, data movement too. Bits do not depend on it.
///
/// What code generation may rely on: operands are whole buffers in C order (results of other operations,
/// arguments, constants, aliases), each once. Operands of packed products and gathers are body arguments
/// themselves. Inside, every movement operation is on a chain from a body argument for which ir::view_of
/// gives strides on that argument. A copy yields such a view, a fill yields a splat or iota; both have no
/// other operation. For a reduce, all views in front of it have one stride over the reduced axes. The
/// fusion's location is that of all its operations (FusedLoc); see also kiln.refused.
///
/// Why here: layouts are decided, so what is fused stays; behind it, the list of operations is the schedule.
/// Needs: expand, layout and outline.
std::unique_ptr<mlir::Pass> create_fuse_pass(bool fuse = true);

}  // namespace kiln::passes
