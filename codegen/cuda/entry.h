// The entry of a GPU kernel.
#pragma once
#include "codegen/emit/kernel_builder.h"

#include <string>

namespace llvm {
class Module;
}

namespace kiln::codegen {

/// Makes a kernel of a GPU from `symbol`, the function of a CPU kernel (runtime's KernelFn) that computes a
/// range of its outermost loop. `symbol` becomes an entry that computes one iteration in each thread of the
/// grid, or in each team of `launch.threads` threads together.
///
/// The entry takes the operands' addresses and the parameters by value, as two arrays, then the extent of the
/// loop. By value, so that LLVM knows that operands are global memory. All cards allow 4 KiB of arguments;
/// above that, it takes the address of both arrays in global memory, the second following the first. With
/// scratch memory, the extent is followed by the bytes per thread. Threads have theirs in their order from
/// the last operand on, and its first eight bytes are zero.
void add_entry(llvm::Module& module, const std::string& symbol, const KernelArguments& arguments,
               const GpuLaunch& launch);

}  // namespace kiln::codegen
