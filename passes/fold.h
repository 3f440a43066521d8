// The pass kiln-fold: constants computed by generated kernels.
#pragma once
#include "passes/pipeline.h"

#include <memory>

namespace kiln::passes {

/// Replaces the constant part of a function by its values.
///
/// C++ arithmetic never computes a constant: the constant part is copied into a module without arguments,
/// which `evaluate` compiles and runs like any other program. So a folded value has the bits that it would
/// have at run time. Arrays made by `full`, `ones`, ... stay symbolic: a pointwise operation on splats is
/// evaluated on one element and gives a splat.
///
/// Why first: later passes see fewer operations, and a splat operand costs a fusion nothing. Needs: kiln
/// operations in one block; random_uniform is never constant. Without an `evaluate` nothing happens, nor in a
/// function that carries `kiln.evaluated`, which this pass gives to the modules that it evaluates.
/// Guarantees: memory and time are bounded. View operations stay, since they cost nothing later, and values
/// much larger than their operands are left to run time.
std::unique_ptr<mlir::Pass> create_fold_pass(Evaluate evaluate);

inline constexpr llvm::StringLiteral evaluated_attr =
    "kiln.evaluated";  // UnitAttr of a function made by folding

}  // namespace kiln::passes
