// A of a row tile, packed or copied, where its rows as they lie would compete for the sets of a cache.
#include "codegen/cpu/contraction/contraction_lhs.h"

namespace kiln::codegen {

void pack_rows(KernelBuilder& e, const ContractionPlan& plan, int rows, mlir::Value in, mlir::Value out) {
  const DType dtype = plan.tile.dtype;
  const bool has_masks = size_of(dtype) >= 4;
  for (int row = 0, run; row < rows; row += run) {
    for (run = 1; run < plan.tile.lanes && row + run < rows; ++run)
      if (plan.offset_in_lhs(row + run) != plan.offset_in_lhs(row) + run) break;
    if (run < plan.tile.lanes && !has_masks) run = 1;
    const int lanes = run == 1 ? 1 : plan.tile.lanes;
    const mlir::Value mask = run < lanes ? e.mask_below(run, lanes) : mlir::Value();
    e.store(e.load(e.element(in, e.index(plan.offset_in_lhs(row)), dtype), dtype, lanes, mask),
            e.element(out, e.index(row), dtype), dtype, lanes);
  }
}

void copy_row(KernelBuilder& e, const ContractionPlan& plan, int number, mlir::Value in, mlir::Value count,
              mlir::Value out) {
  const DType dtype = plan.tile.dtype;
  const int lanes = plan.tile.lanes;
  const mlir::Value to = e.element(out, e.index(number * ContractionPlan::copied_row_stride), dtype);
  e.each_register(count, lanes, [&](mlir::Value k, mlir::Value mask) {
    e.store(e.load(e.element(in, k, dtype), dtype, lanes, mask), e.element(to, k, dtype), dtype, lanes);
  });
}

}  // namespace kiln::codegen
