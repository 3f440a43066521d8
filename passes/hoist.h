// The pass kiln-hoist: loop-invariant code motion.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Loop-invariant code motion out of the bodies of loops, inner bodies first, and of packs of outer values
/// out of branches. Random numbers stay, since every step draws others.
///
/// Why here: it runs twice. Before folding, it shows the constants of a body to fold. After layout, packs of
/// weights are visible: a pack of a parameter outside of all bodies is a prepacked constant and leaves the
/// call. A loop may run no step. Hoisting is still sound, since operations have no effects; cheap ones
/// (views, splats) return into the body when it becomes a function. Needs: nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_hoist_pass();

}  // namespace kiln::passes
