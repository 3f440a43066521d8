#pragma once
#include "codegen/emit/kernel_builder.h"

namespace llvm {
class Function;
}

namespace kiln::codegen {

/// Marks the loads of the entry `kernel` from memory that it does not write as invariant, so that they are
/// ld.global.nc, which a GPU has more and larger paths for. Which operands it writes is what its code shows;
/// which memory these share with others is `arguments.memory`.
void mark_read_only(llvm::Function& kernel, const KernelArguments& arguments);

}  // namespace kiln::codegen
