// Finds the row of an operation.
#include "codegen/backend/kernel_table.h"

#include "runtime/fail.h"

namespace kiln::codegen {

const KernelRow* KernelTable::row_of(mlir::Operation* op, bool is_root) const {
  for (const KernelRow& row : rows_)
    if (row.is_root == is_root && row.operation == op->getName().getTypeID() &&
        (!row.applies || row.applies(op)))
      return &row;
  return nullptr;
}

Launches KernelTable::launch(mlir::Operation* op, const CpuTarget& code, const KernelTable* other) const {
  mlir::Operation* root = op;
  const KernelRow* row = nullptr;
  if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op))
    for (mlir::Operation& inner : fusion.getBody().front()) {
      if (!(row = row_of(&inner, /*is_root=*/true))) continue;
      root = &inner;
      break;
    }
  if (!row) row = row_of(op, /*is_root=*/false);
  if (!row) fail_internal("{} reached code generation", op->getName().getStringRef().str());
  if (row->launch) return row->launch(op, root, code);
  if (!other) fail_internal("there is no other back end for {}", root->getName().getStringRef().str());
  return other->launch(op, code);
}

}  // namespace kiln::codegen
