// Graphs and kernels as MLIR text for people.
#pragma once
#include <mlir/IR/BuiltinOps.h>

#include <string>

namespace kiln::codegen {

/// Lines of the texts are at most this long, unless a token is longer.
inline constexpr std::size_t max_text_columns = 120;

/// A module or function of the dialect as text for people, which parses. Locations are last, each on a line.
/// Arguments have none. Large constants are elided.
std::string graph_text(mlir::Operation* op);

/// A kernel's module as text for people: each constant once, at the beginning of the function, and arguments,
/// parameters and operands by name. The module itself stays as it is.
std::string mlir_text(mlir::ModuleOp module);

}  // namespace kiln::codegen
