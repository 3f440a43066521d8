#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Gives a reduction of rows its own copy of a difference, sum or product with a statistic of the same rows,
/// as x - mean(x) in the variance, where others use that too: written to memory and read again it would cost
/// more than the one operation.
///
/// Why here: kernels are about to be formed, and cse would make the copies one again. Only where the whole
/// operand is in memory anyway, since the statistic comes from it and lies between. Needs: outline (bodies of
/// loops as functions). Guarantees: bits stay.
std::unique_ptr<mlir::Pass> create_recompute_pass();

}  // namespace kiln::passes
