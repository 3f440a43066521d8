// The program's lines, and debug information of kernels.
#pragma once
#include <mlir/IR/BuiltinOps.h>

#include <string>
#include <vector>

namespace kiln::codegen {

/// The program's lines in a location, "net.cpp:12", each once.
std::vector<std::string> lines_of(mlir::Location loc);

/// KILN_DEBUG=symbols: whether all kernels have debug information, and are known to debuggers and perf.
bool debug_symbols();

/// Gives a module in LLVM's dialect debug information: a line of the program for each operation, and a
/// subprogram for each function. Each operation keeps the first line of its location.
void add_debug_info(mlir::ModuleOp module);

}  // namespace kiln::codegen
