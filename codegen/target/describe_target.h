// The model of the machine as a text.
#pragma once
#include <kiln/export.h>

#include <string>

namespace kiln::codegen {

/// The model of this machine that kernels are tuned by, a line for each fact, for people.
KILN_API std::string describe_target();

}  // namespace kiln::codegen
