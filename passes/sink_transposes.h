// The pass kiln-sink-transposes: transposes between convolutions meet and cancel.
#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves transposes after their users: op(transpose(x)) becomes transpose(op(x)). The users are pointwise
/// operations, pads, slices, insertions, concatenations, reshapes of spatial axes, and broadcasts that repeat
/// elements of images whose channels fill a vector. Adjacent transposes are composed.
///
/// Convolutions are computed with the channels last, between two transposes (kiln-layout). Transposes between
/// two convolutions meet here and cancel, so that a network changes its layout at its edges only. The other
/// operand of an operation that a transpose passes is transposed inversely.
///
/// Transposes before a reduction move up instead, before the pointwise operations that only the reduction
/// uses, or several reductions of one kernel. The kernel can then compute these operations: statistics of
/// BatchNorm and their gradients.
std::unique_ptr<mlir::Pass> create_sink_transposes_pass(const TargetModel& target);

}  // namespace kiln::passes
