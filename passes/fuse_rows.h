// The pass kiln-fuse-rows: row fusion.
#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Attribute of a fusion: array<i64: number of its row fusion, rows, bytes of a row>.
inline constexpr llvm::StringLiteral row_fusion_attr = "kiln.row_fusion";
/// Attribute of a fusion in a row fusion: array<i64: operand, bytes of a row, ...> of the operands that an
/// earlier kernel of the row fusion streams from memory. This kernel finds their rows in L1 or L2 and
/// prefetches their next rows.
inline constexpr llvm::StringLiteral next_rows_attr = "kiln.next_rows";

/// Row fusion: marks consecutive kernels that work row by row on each other's results (softmax: a maximum,
/// exp, a sum, a division). The marked kernels become one kernel whose outer loop runs their code on a few
/// rows at a time, so that intermediate values stay in L1 or L2.
///
/// Rows are the leading axes that the results of all kernels share. Every view of one kernel on another's
/// result stays within a row. A reduction of columns has no rows in memory and is never marked. Nor are
/// kernels that read and write few bytes together: caches hold their values anyway. A row fusion has at most
/// 64 kernels and 512 operations: its code is one function, which LLVM compiles in more than linear time.
///
/// Why here: after fuse there are kernels, in their final order; plan-buffers keeps the operands of a row
/// fusion live until its last kernel. Guarantees: the kernels marked with one number are consecutive.
std::unique_ptr<mlir::Pass> create_fuse_rows_pass(const TargetModel& target);

}  // namespace kiln::passes
