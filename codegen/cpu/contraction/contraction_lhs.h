#pragma once
#include "codegen/cpu/contraction/contraction_plan.h"
#include "codegen/emit/kernel_builder.h"

namespace kiln::codegen {

/// Packs A's elements of a tile's rows at one k, from those of its first row at `in`: in registers as far as
/// rows are neighbours in memory. A register that is not full overwrites what follows, which is packed later.
void pack_rows(KernelBuilder& e, const ContractionPlan& plan, int rows, mlir::Value in, mlir::Value out);

/// Copies `count` elements of a row of A, at `in`, to those of row `number` of a tile's copies at `out`.
void copy_row(KernelBuilder& e, const ContractionPlan& plan, int number, mlir::Value in, mlir::Value count,
              mlir::Value out);

}  // namespace kiln::codegen
