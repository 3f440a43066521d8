#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Moves out of the body of a loop what every step would compute alike, and out of a branch the packs of
/// values from outside, inner bodies first. Random numbers stay: each step draws its own.
///
/// Why here: once before folding, which then sees constants that a body makes, and once behind layout, when
/// packs of weights are visible: a pack of a parameter outside of all bodies is a snapshot and leaves the
/// call. That a loop may take no step is no objection: operations have no effects, and cheap ones (views,
/// splats) go back in when bodies become functions. Needs: nothing. Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_hoist_pass();

}  // namespace kiln::passes
