#pragma once
#include "ptx_text.h"

#include <llvm/IR/Module.h>

#include <string>

namespace kiln::ptx {

/// Adds `void NAME(ptr parameters, i32 thread, i32 block, i32 threads)` to the module: one thread of the
/// entry, on the memory of this process, of a block of that many threads. Arithmetic is that of the PTX
/// manual, rounding included; an instruction that is not known throws std::runtime_error. Kernels with
/// barriers or shared memory are not known. Each access but those to parameters goes through `ptr
/// kiln_ptx_access(ptr, i32 bytes, i1 writes)`, which returns the address to access.
void translate(const Entry& entry, const std::string& name, llvm::Module& module);

}  // namespace kiln::ptx
