#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Bodies of loops and branches become private functions in front of the function that they were in, and loop
/// and if become run_loop and run_if, which name them. What a body uses from outside becomes an argument of
/// it; splats, iota and views are made anew inside, where they cost nothing.
///
/// Why here: the passes behind it, code generation and the runtime see lists of operations only. Behind
/// hoist: what could leave the body has left it. Needs: nothing. Guarantees: bits stay; no loop or if is
/// left; a body stands before the function that runs it.
std::unique_ptr<mlir::Pass> create_outline_pass();

}  // namespace kiln::passes
