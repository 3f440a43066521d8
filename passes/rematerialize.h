// The pass kiln-rematerialize: cheap operations as x - mean(x), once per reduction that uses them.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Rematerializes a difference, sum or product with a statistic of the same rows, as x - mean(x) in a
/// variance. The reduction that uses it gets a copy of the operation if other kernels use the value too.
/// Writing the value to memory and reading it again would cost more than the one operation.
///
/// Applied only when the operand is materialised anyway: the statistic is computed from it first. The search
/// for it ends after 512 operations. Why here: kernels are about to be formed, and CSE would merge the copies
/// again. Needs: outline (bodies of loops as functions). Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_rematerialize_pass();

}  // namespace kiln::passes
