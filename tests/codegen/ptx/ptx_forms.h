// The versions and targets that PTX instructions need.
#pragma once
#include "ptx_text.h"

namespace kiln::ptx {

/// Throws std::runtime_error if the module's .version is below its .target's, if an instruction needs a later
/// .version or .target, or if parameters, threads or blocks exceed a card's memory.
void check_forms(const Entry& entry);

}  // namespace kiln::ptx
