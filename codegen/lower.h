#pragma once
#include "codegen/emit.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Texts of one kernel on its way to machine code, for dumps.
struct KernelTexts {
  std::string mlir, llvm, assembly;
};

/// Machine code of a kernel: an ELF object with one function.
struct KernelObject {
  std::string symbol;
  std::vector<char> bytes;
};

/// Emits the kernel in MLIR, lowers it to LLVM IR and compiles it. `context` is the one its location belongs
/// to; several threads may lower with one. `texts` may be null. Throws an internal error when a stage refuses
/// the code.
KernelObject lower_kernel(mlir::MLIRContext& context, const KernelRequest& request, const std::string& symbol,
                          const Target& target, KernelTexts* texts);

}  // namespace kiln::codegen
