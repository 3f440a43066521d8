// A kernel's request to its code.
#pragma once
#include "codegen/backend/backend.h"
#include "codegen/driver/stages.h"
#include "codegen/emit/kernel_builder.h"
#include "runtime/plan.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Code of a kernel: an ELF object with one function, or PTX with one entry.
struct KernelObject {
  std::string symbol;
  Blob bytes;
};

/// Emits the kernel in MLIR, lowers it to LLVM IR and compiles it. `context` is the context of the request's
/// location; several threads may use one context. `debug_info`: the object has the program's lines and unwind
/// tables; the instructions are the same. `stages`, which may be null, receives the text "mlir" and the texts
/// of Backend::lower(), and for a report with code the text "lines". Throws an internal error when a stage
/// rejects the code.
KernelObject lower_kernel(mlir::MLIRContext& context, const KernelRequest& request, const std::string& symbol,
                          const Backend& backend, bool debug_info, Stages* stages);

/// The MLIR that lower_kernel() compiles, without names and source lines, and how a device launches it: equal
/// texts mean equal code.
std::string kernel_text(mlir::MLIRContext& context, const KernelRequest& request, const CpuTarget& target);

}  // namespace kiln::codegen
