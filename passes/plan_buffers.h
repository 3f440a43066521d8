#pragma once
#include <llvm/ADT/StringRef.h>
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

inline constexpr llvm::StringLiteral buffers_attr = "kiln.buffers";  // array of strings, of an operation
inline constexpr llvm::StringLiteral arena_bytes_attr = "kiln.arena_bytes";  // I64, of the function
inline constexpr llvm::StringLiteral arena_lower_bound_attr =
    "kiln.arena_lower_bound";  // I64, of the function

/// Buffer assignment, function by function: bodies of loops and branches precede the functions that run them.
///
/// Why here: after fusion the list of operations is the schedule, so lifetimes are known; before code
/// generation, because kernels take addresses as arguments and must not depend on them.
///
/// Each operation with a result gets `kiln.buffers`, an array with one string per result:
///   "arena:OFFSET"   bytes from the arena's beginning, 64-byte aligned
///   "output:I"       result I of the call (the value is written there directly)
///   "alias:N"        the memory of operand N (reshape, a kernel that inserts)
///   "constant:I"     constant I of the function, in order of appearance
///   "snapshot:I"     prepacked constant I (ir/snapshots.h), in order of appearance
///   "snapshot:I+N"   the same, at byte N: a further result of the operation that makes it
/// run_loop and run_if get one more, an "arena:OFFSET" for their scratch memory (runtime/control.h).
/// The function gets `kiln.arena_bytes` and `kiln.arena_lower_bound` (I64). A pointwise fusion may overwrite
/// a dying arena operand of the same size of which it reads each element where it writes one. Values returned
/// twice, and arguments and constants that are returned, are copied by identity fusions that the pass
/// inserts, so each result of the call is written by one operation. Results listed in `kiln.writes` live in
/// the arena: they are copied over the inputs at the end.
std::unique_ptr<mlir::Pass> create_plan_buffers_pass();

}  // namespace kiln::passes
