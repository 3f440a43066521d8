#pragma once
#include "passes/target_model.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Of a fusion: array<i64: number of its row fusion, rows, bytes of a row>.
inline constexpr llvm::StringLiteral row_fusion_attr = "kiln.row_fusion";
/// Of a fusion in a row fusion: array<i64: operand, bytes of a row, ...> of the operands that a preceding
/// kernel of the row fusion has streamed from memory. This kernel finds their rows in L1 or L2 and prefetches
/// the next rows.
inline constexpr llvm::StringLiteral next_rows_attr = "kiln.next_rows";

/// Row fusion: finds consecutive kernels that work row by row on each other's results (softmax: a maximum,
/// exp, a sum, a division). Such a row fusion becomes one kernel that takes a few rows at a time through the
/// code of all, so that intermediate values stay in L1 or L2.
///
/// Rows are the leading axes that the results of all kernels have in common. Every view of one kernel on
/// another's result stays within a row. A row fusion that passes little through memory is left alone: a cache
/// holds it anyway. A row fusion has at most 64 kernels and 512 operations: its code is one function, which
/// LLVM compiles in more than linear time.
///
/// Why here: after fuse there are kernels, in their final order; plan-buffers keeps the operands of a row
/// fusion alive for all of it. Guarantees: the kernels marked with one number are consecutive.
std::unique_ptr<mlir::Pass> create_fuse_rows_pass(const TargetModel& target);

}  // namespace kiln::passes
