#pragma once
// Where operations of the dialect may stand on their way from a graph to kernels: the column `stages` of
// KilnOps.td.
#include <llvm/ADT/StringRef.h>
#include <mlir/IR/Operation.h>

namespace kiln::ir {

/// A place, by its letter in KilnOps.td.
enum class Stage : char { graph = 'G', lowered = 'L', kernels = 'K', fusion = 'F' };

/// False for operations of other dialects, too.
bool may_stand(mlir::Operation* op, Stage stage);

/// Whether all kiln operations within `module` may stand in `stage`. Among kernels, operations in the body of
/// a fusion may stand in a fusion. Reports the operations that may not.
mlir::LogicalResult verify_stage(mlir::Operation* module, Stage stage);

/// Whether the operation has lists of integers with a value for each axis and no other dependence on the
/// order of axes. Its axes may then be permuted together with its operands' axes.
bool is_per_axis(mlir::Operation* op);

}  // namespace kiln::ir
