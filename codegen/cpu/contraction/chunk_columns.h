#pragma once
#include "codegen/cpu/contraction/contraction.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a product of few results over several chunks of k, by a packed B: the chains of some chunks,
/// which do not depend on each other, side by side hide the latency of multiply-adds. Nothing for other
/// contractions.
std::optional<Launch> launch_chunk_columns(ir::FusionOp fusion, mlir::Value root,
                                           const Contraction& contraction, const CpuTarget& target);

}  // namespace kiln::codegen
