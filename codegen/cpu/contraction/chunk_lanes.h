#pragma once
#include "codegen/cpu/contraction/contraction.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a product of few results over many chunks of k, by operands that are not packed: the chains
/// of these chunks do not depend on each other, and a register has an accumulator of each of several chunks.
/// Nothing for other contractions.
std::optional<Launch> launch_chunk_lanes(ir::FusionOp fusion, mlir::Value root,
                                         const Contraction& contraction, const CpuTarget& target);

}  // namespace kiln::codegen
