#pragma once
#include "ptx_text.h"

#include <llvm/IR/Module.h>

namespace kiln::ptx {

/// Adds `void NAME(ptr parameters, i32 thread, i32 block)` to the module: one thread of the entry, on the
/// memory of this process. Blocks have `threads` threads. Arithmetic is that of the PTX manual, rounding
/// included; an instruction that is not known throws std::runtime_error. Kernels with barriers or shared
/// memory are not known.
llvm::Function* translate(const Entry& entry, llvm::Module& module, unsigned threads);

}  // namespace kiln::ptx
