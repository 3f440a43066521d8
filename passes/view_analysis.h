// Decides which view operations are strides on a buffer.
#pragma once
#include "ir/views.h"

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/Block.h>

namespace kiln::passes {

/// Whether `op` is a splat or an iota: cheap, without operands, rematerialized in each kernel that uses it.
bool is_nullary(mlir::Operation* op);

/// Whether `op` reads its operands element by element, so that views and splats may be its operands:
/// pointwise operations and reduce.
bool takes_elements(mlir::Operation* op);
/// Whether the kernel of the use's owner reads that operand with arbitrary strides.
bool takes_view(mlir::OpOperand& use);
/// Whether the kernel of `user` rematerializes its nullary operand `op`; otherwise `op` is an array in
/// memory.
bool rematerializes(mlir::Operation* user, mlir::Operation* op);

/// Decides which view (layout) operations of a block need a buffer; the others are strides on a buffer.
///
/// A view operation is a buffer (a strided copy) in three cases. Strides on it cannot express another view
/// operation. Its user reads a whole array (B of a contraction, concatenate, the return) and the view is not
/// contiguous. The reduced axes of a reduction would not collapse into one. The last of a chain of
/// ir::max_view_chain view operations is a buffer too.
class ViewAnalysis {
 public:
  /// With `views` false, all view operations but reshapes are buffers.
  explicit ViewAnalysis(mlir::Block& block, bool views = true);

  bool is_buffer(mlir::Operation* op) const { return buffers_.contains(op); }
  /// Strides of `v` on the nearest buffer in its chain of view operations, which may be `v`.
  ir::View view(mlir::Value v) const;
  /// That buffer.
  mlir::Value base(mlir::Value v) const { return view(v).base; }

 private:
  std::optional<ir::View> try_view(mlir::Value v, mlir::Value& blocked) const;
  void cut_chains(mlir::Block& block);
  mlir::Operation* buffer_for(mlir::OpOperand& use);
  llvm::DenseSet<mlir::Operation*> buffers_;
};

/// Whether the reduced axes of `reduce` collapse into one axis with one stride for each of `operands`, which
/// have the shape of its input.
bool reduces_one_axis(ir::ReduceOp reduce, llvm::ArrayRef<mlir::Value> operands,
                      const ViewAnalysis& view_analysis);

}  // namespace kiln::passes
