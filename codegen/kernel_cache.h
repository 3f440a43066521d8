#pragma once
#include "codegen/emit.h"
#include "codegen/lower.h"
#include "runtime/executable.h"

namespace kiln::codegen {

/// The kernel of a request: from memory, else from the disk, else compiled (and stored in both). Threads that
/// ask for the same kernel at once wait for one compile. `texts`, when not null, receives the stages: the
/// code is generated anew for it.
std::shared_ptr<const Kernel> get_kernel(mlir::MLIRContext& context, const KernelRequest& request,
                                         const Target& target, KernelTexts* texts);

/// Makes get_kernel() find the kernels of these requests: those that are missing are loaded or compiled on
/// the threads that a call may use. Of equal requests one is compiled. The requests' locations belong to
/// `context`; `graph` is for people.
void prepare_kernels(mlir::MLIRContext& context, llvm::ArrayRef<KernelRequest> requests, const Target& target,
                     llvm::StringRef graph);

}  // namespace kiln::codegen
