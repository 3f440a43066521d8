#pragma once
#include "codegen/cpu/contraction/contraction.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a product by a B that is not packed, of which it pays to read B where it lies: few rows use
/// it, or it stays in L2. Nothing for other contractions.
std::optional<Launch> launch_unpacked_product(ir::FusionOp fusion, mlir::Value root,
                                              const Contraction& contraction, const CpuTarget& target);

}  // namespace kiln::codegen
