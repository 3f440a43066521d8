// Translation of a PTX entry to LLVM IR.
#pragma once
#include "ptx_text.h"

#include <llvm/IR/Module.h>

#include <string>

namespace kiln::ptx {

/// Adds `void NAME(ptr thread)` to the module: one Thread (thread.h) of the entry, on the memory of this
/// process. Arithmetic follows the PTX manual, rounding included; an unknown instruction throws
/// std::runtime_error. Each access except to parameters, each barrier, shuffle and vote is a call of the
/// device (thread.h). Addresses of shared memory begin at 0; all others are of this process.
void translate(const Entry& entry, const std::string& name, llvm::Module& module);

}  // namespace kiln::ptx
