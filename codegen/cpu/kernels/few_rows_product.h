#pragma once
#include "codegen/cpu/kernels/contraction.h"

#include <optional>

namespace kiln::codegen {

/// Registers of columns in a tile of such a product, all tiles nearly equal; 0 if the rows leave too few of
/// the target's `registers` for them. `transposes`: the elements of a column of B are next to each other.
int unpacked_vectors(std::int64_t rows, std::int64_t columns, int lanes, int registers, bool transposes);

/// The kernel of a product of few rows by a B that is not packed: B is read once, where it lies. Nothing for
/// other contractions.
std::optional<Launch> launch_few_rows(ir::FusionOp fusion, mlir::Value root, const Contraction& contraction,
                                      const CpuTarget& target);

}  // namespace kiln::codegen
