#pragma once
#include "ir/dialect.h"

#include <llvm/ADT/DenseSet.h>

namespace kiln::ir {

/// The operations of a function's block that its parameters alone decide, and that are worth keeping: packed
/// weights, the scale and shift of a BatchNorm. Their results are made once per version of those parameters,
/// outside of calls. Parameters that the call itself changes decide nothing. Bodies of loops and branches
/// have none.
///
/// Before fusion every operation of a slice that will be kept is in the set, behind it the kernels, packs and
/// concatenations. What is larger than its operands by more than 1 MiB is not kept, but for packs, nor what
/// the function returns.
llvm::DenseSet<mlir::Operation*> find_snapshots(mlir::Block& block);

}  // namespace kiln::ir
