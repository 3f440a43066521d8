#pragma once
#include "ptx_text.h"

namespace kiln::ptx {

/// Throws std::runtime_error if the module's .version is below what its .target needs, or an instruction
/// needs a later .version or .target, or the parameters or shared memory are more than an entry can have.
void check_forms(const Entry& entry);

}  // namespace kiln::ptx
