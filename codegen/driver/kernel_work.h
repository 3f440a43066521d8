// The work of a kernel, by the operations that it computes.
#pragma once
#include "codegen/driver/report.h"

#include <mlir/IR/AsmState.h>
#include <mlir/IR/Operation.h>

#include <memory>

namespace kiln::codegen {

/// The work of the kernels of one function, which must not change between calls.
class KernelWork {
 public:
  explicit KernelWork(mlir::Operation* function) : function_(function) {}
  /// Bytes, multiply-adds, operations and nodes of a kernel that computes these operations one after the
  /// other; a fusion counts as its body. `bytes`, if not negative, is the number that the caller knows
  /// better.
  KernelReport of(llvm::ArrayRef<mlir::Operation*> operations, std::int64_t bytes);

 private:
  mlir::Operation* function_;
  /// The names of its values, made once: they take time for each operation of the function.
  std::unique_ptr<mlir::AsmState> names_;
};

}  // namespace kiln::codegen
