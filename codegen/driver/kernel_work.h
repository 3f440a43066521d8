// The work of a kernel, by the operations that it computes.
#pragma once
#include "codegen/driver/report.h"

#include <mlir/IR/Operation.h>

namespace kiln::codegen {

/// Bytes, multiply-adds, operations and nodes of a kernel that computes these operations one after the other;
/// a fusion counts as its body. `bytes`, if not negative, is the number that the caller knows better.
KernelReport work_of(llvm::ArrayRef<mlir::Operation*> operations, std::int64_t bytes);

}  // namespace kiln::codegen
