// The pass kiln-outline: bodies of loops and branches become functions.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Bodies of loops and branches become private functions that precede their user, and loop and if become
/// run_loop and run_if, which name them. A value that a body captures becomes an argument of its function;
/// splats, iota and views are cloned inside, where they cost nothing.
///
/// Why here: later passes, code generation and the runtime see lists of operations only. After hoist:
/// whatever could leave the body has left it. Needs: nothing. Guarantees: bits stay; no loop or if is left; a
/// body precedes the function that runs it.
std::unique_ptr<mlir::Pass> create_outline_pass();

}  // namespace kiln::passes
