// Contractions that read B unpacked.
#pragma once
#include "codegen/cpu/contraction/contraction.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a contraction that reads B unpacked, in place. This pays if few rows use B, or if it stays
/// in L2. Nothing for other contractions.
std::optional<Launch> launch_unpacked_product(ir::FusionOp fusion, mlir::Value root,
                                              const Contraction& contraction, const CpuTarget& target);

}  // namespace kiln::codegen
