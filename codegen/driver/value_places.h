// The memory of a function's values during a call.
#pragma once
#include "ir/dialect.h"
#include "runtime/plan.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>

namespace kiln::codegen {

/// The places that buffer assignment (passes/plan_buffers.h) gave to values.
class ValuePlaces {
 public:
  /// Places of the arguments: inputs, then saved values.
  explicit ValuePlaces(mlir::func::FuncOp function);
  /// Results of an operation, whose operands have places; in program order.
  void add_results(mlir::Operation& op);

  BufferRef of(mlir::Value v) const;
  /// The scratch memory of the bodies of a loop or branch.
  BufferRef scratch_of(mlir::Operation* op) const { return scratch_.lookup(op); }

 private:
  BufferRef buffer_ref(mlir::Operation& op, ir::PlaceAttr where) const;

  std::string name_;  // of the function
  llvm::DenseMap<mlir::Value, BufferRef> places_;
  llvm::DenseMap<mlir::Operation*, BufferRef> scratch_;
};

}  // namespace kiln::codegen
