// The versions and targets that PTX instructions need.
#pragma once
#include "ptx_text.h"

namespace kiln::ptx {

/// Throws std::runtime_error in three cases: the module's .version is below its .target's; an instruction
/// needs a later .version or .target; parameters, threads or blocks need more memory than a card has.
void check_forms(const Entry& entry);

}  // namespace kiln::ptx
