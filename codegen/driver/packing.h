// The order of a parameter's elements in a prepacked constant.
#pragma once
#include "ir/dialect.h"
#include "runtime/packing.h"

#include <optional>

namespace kiln::codegen {

/// The order of a parameter's elements in the result of `op`, a prepacked constant, if that is the pack of a
/// whole parameter. Nothing for Winograd's transformed kernels, and for packs of views and computed values.
std::optional<Packing> packing_of(mlir::Operation* op);

}  // namespace kiln::codegen
