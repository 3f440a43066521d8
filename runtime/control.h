#pragma once
#include "runtime/executable.h"

/// Steps that run other programs: loops and branches. Their bodies are executables without snapshots and
/// write-backs, whose arenas are part of the step's scratch memory.
namespace kiln {

/// Where the next block of an arena may begin: a cache line, and the widest vector.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// A loop (kiln.run_loop). The body takes the carried values, a row of each of `rows`, then the invariants,
/// and gives the carried values of the next step, a row of each output, then, in a conditional loop, whether
/// to go on.
///
/// Operands of the step: carried values, rows, invariants, the condition (if conditional), results (carried,
/// then stacked outputs), scratch, random state. Scratch: a second copy of each carried value and, if
/// conditional, a bool, each aligned, then the body's arena.
struct LoopPlan {
  std::shared_ptr<const Executable> body;
  std::int64_t steps = 0;  ///< at most this many in a conditional loop
  std::int64_t draws = 0;  ///< random counters from one step to the next
  std::size_t carries = 0, rows = 0, invariants = 0, outputs = 0;
  bool conditional = false;
};
std::shared_ptr<const Control> make_loop(LoopPlan plan);

/// A branch (kiln.run_if). Operands of the step: the arguments, the condition, results, scratch (the arena of
/// either body), random state.
struct BranchPlan {
  std::shared_ptr<const Executable> then, otherwise;
};
std::shared_ptr<const Control> make_branch(BranchPlan plan);

}  // namespace kiln
