// The attribute of prepacked constants.
#pragma once
#include "ir/dialect.h"

namespace kiln::ir {

/// UnitAttr of an operation: its results are prepacked constants. They derive from parameters alone (packed
/// weights, the scale and shift of a BatchNorm), are computed once per version of these parameters, and are
/// kept beside them. Set by fuse; verified to derive from nothing else.
inline constexpr llvm::StringLiteral prepacked_attr = "kiln.prepacked";

inline bool is_prepacked(mlir::Operation* op) { return op->hasAttr(prepacked_attr); }

/// Whether `v` is a parameter that the call does not write. A training step writes its parameters: values
/// derived from them do not outlive the call.
bool is_unchanged_parameter(mlir::Value v);

/// Whether every operand is a constant, an unchanged parameter or prepacked, and at least one is no constant.
bool derives_from_parameters(mlir::Operation* op);

}  // namespace kiln::ir
