// Contractions of few results over many chunks of k, with unpacked operands.
#pragma once
#include "codegen/cpu/contraction/contraction.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a contraction with few results over many chunks of k, with unpacked operands. The
/// accumulator chains of different chunks are independent: each lane of a register accumulates one chunk.
/// Nothing for other contractions.
std::optional<Launch> launch_chunk_lanes(ir::FusionOp fusion, mlir::Value root,
                                         const Contraction& contraction, const CpuTarget& target);

}  // namespace kiln::codegen
