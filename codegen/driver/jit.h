#pragma once
#include "codegen/driver/lower.h"
#include "runtime/executable.h"

namespace kiln::codegen {

/// Maps an object into the process. The code is unmapped with the last copy of Kernel::code. Any thread.
/// Throws an internal error when the object cannot be linked.
std::shared_ptr<Kernel> load_object(const KernelObject& object);

}  // namespace kiln::codegen
