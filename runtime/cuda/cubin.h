// Loading of kernels: PTX, or machine code from the disk cache.
#pragma once
#include "runtime/plan.h"

#include <string>

namespace kiln::nvidia {

/// Loads a kernel's PTX in the thread's context and returns the module. The driver takes about a tenth of a
/// second to compile PTX. Its machine code (a cubin) is therefore kept in the disk cache, under the driver's
/// version and the GPU's `architecture` ("sm_90"). Throws kiln::Error with the compiler's messages.
void* load_module(const PlannedKernel& kernel, const std::string& architecture);

}  // namespace kiln::nvidia
