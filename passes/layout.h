// The pass kiln-layout: the layout of contractions and convolutions in memory.
#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Splits a contraction into the packing of B (kiln.pack) and a contraction with packed B (kiln.packed_dot,
/// kiln.packed_convolution). A transpose of the last two axes of an operand of a dot becomes an attribute of
/// the contraction. Convolutions are computed with the channels last, between two transposes, which
/// kiln-sink-transposes moves. With few channels and an input that is an argument, they are computed with the
/// channels first.
///
/// Why here: packs of a parameter are then visible, so that they are shared (CSE runs next) and kept across
/// calls. After expand: no convolution is padded. Before fuse, which forms kernels around packed
/// contractions. Needs: expand. Guarantees: no convolution is left, and no dot except by tensor_cores, which
/// read B unpacked; the order of summation stays.
std::unique_ptr<mlir::Pass> create_layout_pass(const TargetModel& target);

}  // namespace kiln::passes
