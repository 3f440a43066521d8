// The program's lines, and debug information of kernels.
#pragma once
#include <mlir/IR/BuiltinOps.h>

#include <string>
#include <vector>

namespace kiln::codegen {

/// The program's lines in a location, "net.cpp:12", each once.
std::vector<std::string> lines_of(mlir::Location loc);

/// The place in `lines` of each operation's line, nested operations included: "0 0 - 1". An operation whose
/// line is not in the list has none.
std::string line_numbers(llvm::ArrayRef<mlir::Operation*> operations, llvm::ArrayRef<std::string> lines);

/// Replaces each operation's line by its place in `lines`, from 1 on, of a file "lines".
void number_lines(mlir::ModuleOp module, llvm::ArrayRef<std::string> lines);

/// KILN_DEBUG=symbols: whether all kernels have debug information, and are known to debuggers and perf.
bool debug_symbols();

/// Gives a module in LLVM's dialect debug information: a line of the program for each operation, and a
/// subprogram for each function. Each operation keeps the first line of its location.
void add_debug_info(mlir::ModuleOp module);

}  // namespace kiln::codegen
