#pragma once
#include "passes/pipeline.h"

#include <memory>

namespace kiln::passes {

/// Replaces the constant part of a function by its values.
///
/// Constants are never computed by C++ arithmetic: the constant part is copied into a module without
/// arguments, which `evaluate` compiles and runs as any other program. So a folded value has the bits that it
/// would have had at run time. Arrays that `full`, `ones`, ... made stay symbolic: pointwise operations on
/// splats are evaluated on one element, and give splats.
///
/// Why first: later passes see fewer operations, and a splat operand costs a fusion nothing.
/// Needs: kiln operations in one block; random_uniform is never constant. Without an `evaluate` nothing
/// happens, nor in a function that carries `kiln.evaluated`, which is what this pass gives to evaluate (so
/// that evaluation does not fold again). Guarantees: memory and time are bounded. Data movement stays (it
/// costs nothing later, as a view), and values that are much larger than what they are made from are left to
/// run time.
std::unique_ptr<mlir::Pass> create_fold_pass(Evaluate evaluate);

/// What `kiln opt --kiln-fold` evaluates with; set by codegen when the library is loaded.
void set_default_evaluate(Evaluate evaluate);
const Evaluate& default_evaluate();

inline constexpr llvm::StringLiteral evaluated_attr =
    "kiln.evaluated";  // UnitAttr of a function made by folding

}  // namespace kiln::passes
