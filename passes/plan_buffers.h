#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Buffer assignment, function by function: bodies of loops and branches precede the functions that run them.
///
/// Why here: after fusion the list of operations is the schedule, so lifetimes are known; before code
/// generation, because kernels take addresses as arguments and must not depend on them.
///
/// Each operation with a result gets `kiln.buffers`, an array with one #kiln.place per result
/// (ir/KilnOps.td); run_loop and run_if get one more, a place in the arena for their scratch memory
/// (runtime/control.h). The function gets `kiln.arena_bytes` and `kiln.arena_lower_bound` (I64). A pointwise
/// fusion may overwrite a dying arena operand of the same size of which it reads each element where it writes
/// one. Values returned twice, and arguments and constants that are returned, are copied by identity fusions
/// that the pass inserts, so each result of the call is written by one operation. Results listed in
/// `kiln.writes` live in the arena: they are copied over the inputs at the end.
std::unique_ptr<mlir::Pass> create_plan_buffers_pass();

}  // namespace kiln::passes
