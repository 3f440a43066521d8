// The code of a kernel of reductions on a CPU.
#pragma once
#include "codegen/emit/reduction.h"

namespace kiln::codegen {

/// Emits the kernel.
void emit_reduction(KernelBuilder& e, const Reduction& reduction, const KernelArgs& args);

}  // namespace kiln::codegen
