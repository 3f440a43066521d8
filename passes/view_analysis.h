#pragma once
#include "ir/views.h"

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/Block.h>

namespace kiln::passes {

/// Cheap operations without operands, which every kernel that uses them makes anew: splats and iota.
bool is_nullary(mlir::Operation* op);

/// Takes its operands element by element, so that they can be views and splats: pointwise operations and
/// reduce.
bool takes_elements(mlir::Operation* op);
/// Whether the kernel of `user` reads that operand through any strides.
bool takes_view(mlir::OpOperand& use);
/// Whether the kernel of `user` makes its nullary operand `op` itself; else it is an array in memory.
bool rematerializes(mlir::Operation* user, mlir::Operation* op);

/// Which view (layout) operations of a block need an array of their own; the others are strides on a buffer.
///
/// A view operation is a buffer (a strided copy) in three cases: another view operation cannot be expressed
/// by strides on it; its user needs a whole array (a contraction, concatenate, the caller, ...) and it is
/// more than a reshape of a whole buffer; a reduction could not walk its axes as one. The last of a chain of
/// ir::max_view_chain view operations is a buffer too.
class ViewAnalysis {
 public:
  /// `views` false: all but reshapes are buffers.
  explicit ViewAnalysis(mlir::Block& block, bool views = true);

  bool is_buffer(mlir::Operation* op) const { return buffers_.contains(op); }
  /// Strides of `v` on the nearest buffer, which may be `v`.
  ir::View view(mlir::Value v) const;
  /// That buffer.
  mlir::Value base(mlir::Value v) const { return view(v).base; }

 private:
  std::optional<ir::View> try_view(mlir::Value v, mlir::Value& blocked) const;
  void cut_chains(mlir::Block& block);
  mlir::Operation* settle(mlir::OpOperand& use);
  llvm::DenseSet<mlir::Operation*> buffers_;
};

/// Whether the reduced axes of `reduce` are one axis for all `operands`, values of its input's shape in front
/// of it.
bool reduces_one_axis(ir::ReduceOp reduce, llvm::ArrayRef<mlir::Value> operands,
                      const ViewAnalysis& view_analysis);

}  // namespace kiln::passes
