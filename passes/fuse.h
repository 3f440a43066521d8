// The pass kiln-fuse: which operations become one kernel, and the form of kernels that code generation relies
// on.
#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Attribute of a fusion, an array of strings: missed-fusion remarks, each with the operation that did not
/// join and the reason.
inline constexpr llvm::StringLiteral missed_fusion_attr = "kiln.missed_fusion";

/// Forms kernels: every operation that computes or moves elements ends in a kiln.fusion, unless it may stand
/// among kernels (ir/stages.h). Splat constants do not remain outside; reshapes that only rename a buffer do.
///
/// * A contraction (packed_dot, packed_convolution) or a reduce takes its pointwise users as an epilogue, as
///   long as one value leaves the kernel.
///
/// * A reduce takes its pointwise producers that have no other user, while every operand walks the reduced
///   axes as one.
///
/// * The epilogue takes the pointwise producers of its other operands that have no other user.
///
/// * Other pointwise operations, and the random numbers and gathers that feed them, join along direct uses;
///   such a kernel may have several results.
///
/// * Splats and iota are cloned into every kernel that uses them (iota: into pointwise kernels and into the
///   elementwise producers of a reduction). A view operation is cloned as a view where it amounts to strides
///   on a buffer; elsewhere it is a copy in a separate kernel. A kernel never applies a view to a value that
///   it computes.
///
/// Kernels, packs and concatenations that derive from parameters alone get `kiln.prepacked` (ir/prepacked.h).
///
/// With `fuse` false every operation is a separate kernel, view operations too. Bits do not depend on it.
///
/// Code generation may rely on the following. Operands are whole buffers in C order (results of other
/// operations, arguments, constants, aliases), each once. Operands of packed contractions and gathers are
/// body arguments themselves. Inside, every view operation is on a chain from a body argument for which
/// ir::view_of gives strides on that argument. A copy yields such a view, a fill yields a splat or iota; both
/// have no other operation. All views that a reduce reads have one stride over the reduced axes. The fusion's
/// location joins the locations of all its operations (FusedLoc); `kiln.missed_fusion` holds the
/// missed-fusion remarks.
///
/// Why here: layouts are decided, so what is fused stays fused; after it, the list of operations is the
/// schedule. Needs: expand, layout and outline.
std::unique_ptr<mlir::Pass> create_fuse_pass(const TargetModel& target, bool fuse = true);

}  // namespace kiln::passes
