// Measurements of the machine.
#pragma once
#include "codegen/target/machine.h"

namespace kiln::codegen {

/// Measures how a core of this machine streams, on the calling thread, in 50 ms and 32 MiB; `machine` has the
/// sizes of its caches. Rounded by coarse(). Where memory is refused the result is assumed.
Streams measure_streams(const Machine& machine);

}  // namespace kiln::codegen
