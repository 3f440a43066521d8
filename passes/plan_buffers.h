// The pass kiln-plan-buffers: buffer assignment.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Buffer assignment, function by function. Bodies of loops and branches precede the functions that run them,
/// because an operation's scratch memory includes the arena of its body.
///
/// Why here: after fusion the list of operations is the schedule, so lifetimes are known; before code
/// generation, because kernels take addresses as arguments and must not depend on them.
///
/// Each operation with a result gets `kiln.buffers`, an array with one #kiln.place per result
/// (ir/KilnOps.td). The array of a run_loop or run_if has one more, a place in the arena for its scratch
/// memory (runtime/control.h). The function gets `kiln.arena_bytes` and `kiln.arena_lower_bound` (I64). A
/// pointwise fusion may overwrite an arena operand of the same size if it is the last reader and reads each
/// element at the place where it writes one. The pass inserts identity fusions that copy returned arguments
/// and constants, and values returned twice: each result of the call is written by one operation.
///
/// Saved values of joint code (passes/joint.h) have fixed places in the saved part of the arena. Before the
/// forward entry computes them, and after the backward entry reads them for the last time, other values may
/// use these places.
///
/// The new contents of an input (`kiln.writes`) are computed in the memory of the input under three
/// conditions. No later operation reads its old contents. The operation that computes them writes its whole
/// result. No later operation can fail: a call that throws leaves its inputs as they were. Otherwise they
/// live in the arena and are copied to the input after the last step. Inputs count as disjoint:
/// Executable::run stages inputs that overlap.
std::unique_ptr<mlir::Pass> create_plan_buffers_pass();

}  // namespace kiln::passes
