// Which operands of a step share memory.
#pragma once
#include "runtime/plan.h"

#include <span>
#include <vector>

namespace kiln::codegen {

/// Which memory each operand of a step is in (KernelArguments::memory): operands of one number may overlap,
/// and no two others do. `bytes` has the extent of each. A result may lie in the memory of an operand that
/// ends with the step, or of an input that the call changes.
std::vector<int> memory_of(std::span<const BufferRef> operands, std::span<const std::int64_t> bytes);

}  // namespace kiln::codegen
