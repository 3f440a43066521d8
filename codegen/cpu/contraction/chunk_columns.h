// Contractions of few results over several chunks of k, with packed B.
#pragma once
#include "codegen/cpu/contraction/contraction.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a contraction with few results over several chunks of k, with packed B. The accumulator
/// chains of different chunks are independent; side by side they hide the latency of FMAs. Nothing for other
/// contractions.
std::optional<Launch> launch_chunk_columns(ir::FusionOp fusion, mlir::Value root,
                                           const Contraction& contraction, const CpuTarget& target);

}  // namespace kiln::codegen
