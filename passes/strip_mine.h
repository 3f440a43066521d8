#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Of a fusion: array<i64: number of its strip, rows, bytes of a row>.
inline constexpr llvm::StringLiteral strip_attr = "kiln.strip";
/// Of a fusion in a strip: array<i64: operand, bytes of a row, ...> of those that a kernel before it read
/// first, from afar. By now their rows are near, and it asks for those that come next.
inline constexpr llvm::StringLiteral next_rows_attr = "kiln.next_rows";

/// Finds neighbouring kernels that work row by row on each other's results (softmax: a maximum, exp, a sum, a
/// division). Such a strip becomes one kernel that takes a few rows at a time through the code of all, so
/// that what is between them stays in a near cache instead of passing through memory as a whole.
///
/// Rows are the leading axes that the results of all its kernels have in common. Every view of one kernel on
/// another's result stays within a row. Small arrays are left alone: they are in the cache anyway.
///
/// Why here: after fuse there are kernels, in their final order; plan-buffers keeps what a strip uses alive
/// for all of it. Guarantees: the marked kernels of one number are neighbours.
std::unique_ptr<mlir::Pass> create_strip_mine_pass();

}  // namespace kiln::passes
