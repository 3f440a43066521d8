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

/// To be called before lower_kernel() is called from several threads with one context: loading dialects is
/// not for several threads.
void prepare_lowering(mlir::MLIRContext& context);

/// Emits the kernel in MLIR, lowers it to LLVM IR and compiles it. `context` is the one its location belongs
/// to. `texts` may be null. Throws an internal error when a stage refuses the code.
KernelObject lower_kernel(mlir::MLIRContext& context, const KernelRequest& request, const std::string& symbol,
                          const Target& target, KernelTexts* texts);

}  // namespace kiln::codegen
