#pragma once
#include "ptx_text.h"

namespace kiln::ptx {

/// Throws std::runtime_error if the module's .version is below what its .target needs, or an instruction
/// needs a later .version or .target, or there is more memory of parameters, threads or blocks than a card
/// has.
void check_forms(const Entry& entry);

}  // namespace kiln::ptx
