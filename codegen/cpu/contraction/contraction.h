// Contractions of packed columns, and of columns that the kernel packs.
#pragma once
#include "codegen/emit/contraction.h"
#include "codegen/emit/launch.h"

namespace kiln::codegen {

/// The kernel of a fusion whose root is a contraction.
Launch launch_contraction(ir::FusionOp fusion, mlir::Value root, const Contraction& contraction,
                          const char* family, const CpuTarget& target);

}  // namespace kiln::codegen
