#pragma once
#include "codegen/cpu/kernels/contraction.h"

#include <optional>

namespace kiln::codegen {

/// The kernel of a product of few rows by a B that is not packed: B is read once, where it lies. Nothing for
/// other contractions.
std::optional<Launch> launch_few_rows(ir::FusionOp fusion, mlir::Value root, const Contraction& contraction,
                                      const CpuTarget& target);

}  // namespace kiln::codegen
