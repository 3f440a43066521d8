#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves transposes after their users: op(transpose(x)) becomes transpose(op(x)) for pointwise operations,
/// pads, slices, insertions, concatenations, reshapes of spatial axes, and broadcasts that repeat elements of
/// images whose channels fill a vector. Adjacent transposes are composed.
///
/// Convolutions are computed with the channels last, between two transposes (kiln-layout). Those between two
/// convolutions meet here and cancel, so that a network changes its layout at its edges only. The other
/// operand of an operation that a transpose passes is transposed inversely.
///
/// Transposes before a reduction go the other way, before the pointwise operations that only the reduction
/// uses, or several that share a kernel, where it can then compute these: statistics of BatchNorm and their
/// gradients.
std::unique_ptr<mlir::Pass> create_sink_transposes_pass(const TargetModel& target);

}  // namespace kiln::passes
