// Loads from memory that a kernel does not write.
#pragma once
#include "codegen/emit/kernel_builder.h"

namespace llvm {
class Function;
}

namespace kiln::codegen {

/// Marks the loads of the entry `kernel` from memory that it does not write as invariant: they become
/// ld.global.nc, which a GPU has more and larger paths for. The kernel's code shows which operands it writes;
/// `arguments.memory` says which operands share memory.
void mark_read_only(llvm::Function& kernel, const KernelArguments& arguments);

}  // namespace kiln::codegen
