#pragma once
#include <mlir/Pass/Pass.h>

namespace kiln::passes {

/// Moves transposes behind the operations that follow: op(transpose(x)) becomes transpose(op(x)) for
/// pointwise operations, pads, slices and concatenations, and transposes that meet are composed.
///
/// Convolutions are computed with the channels last, between two transposes (kiln-layout). Here those between
/// two convolutions meet and cancel, so that a network changes its layout at its edges only. What is added to
/// or joined with a moved value is looked at through the opposite transpose.
std::unique_ptr<mlir::Pass> create_sink_transposes_pass();

}  // namespace kiln::passes
