// Clones of operations with permuted axes, for the passes that move transposes.
#pragma once
#include <llvm/ADT/ArrayRef.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>

#include <cstdint>

namespace kiln::passes {

/// A clone of a pointwise operation, a concatenation, or one that is_per_axis() (ir/stages.h), whose axis i
/// is axis order[i] of `op`. `map` has its operands, in that order of axes.
mlir::Operation* clone_with_axes(mlir::OpBuilder& builder, mlir::Operation* op, mlir::IRMapping& map,
                                 llvm::ArrayRef<std::int64_t> order);

/// A transpose of the last two axes.
mlir::Value with_last_axes_swapped(mlir::OpBuilder& builder, mlir::Value v);

}  // namespace kiln::passes
