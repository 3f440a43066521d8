// LLVM's code generators in this process.
#pragma once

namespace kiln::codegen {

/// Adds the targets that Kiln generates code for, the CPU at hand and NVPTX, to LLVM's registry; later calls
/// do nothing. The registry is a list without a lock. A target that two threads add at the same time may
/// stand in it twice, and LLVM then refuses to choose. So all are added here, once, before any is looked up.
/// Any thread may call it.
void register_llvm_targets();

}  // namespace kiln::codegen
