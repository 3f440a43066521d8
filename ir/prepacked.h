#pragma once
#include "ir/dialect.h"

namespace kiln::ir {

/// UnitAttr of an operation: its results are prepacked constants. They derive from parameters alone (packed
/// weights, the scale and shift of a BatchNorm), are computed once per version of those parameters, outside
/// of calls, and kept beside the parameters. Set by fuse; verified to derive from nothing else.
inline constexpr llvm::StringLiteral prepacked_attr = "kiln.prepacked";

inline bool is_prepacked(mlir::Operation* op) { return op->hasAttr(prepacked_attr); }

/// Whether `v` is a parameter that the call leaves as it is. A step of training changes its parameters, so
/// nothing that derives from them outlives a call.
bool is_unchanged_parameter(mlir::Value v);

/// Whether each operand is a constant, an unchanged parameter or prepacked, and not all are constants.
bool derives_from_parameters(mlir::Operation* op);

}  // namespace kiln::ir
