// The measured bandwidths of this machine.
#pragma once
#include "codegen/target/machine.h"

namespace kiln::codegen {

/// The Streams of this machine: kept by the disk cache, else measured and stored there. Processes with one
/// disk cache thus choose alike, and share kernels. Without a disk cache each process measures. Measurements
/// by Kiln's build do not count, since compilers use the caches beside it. Any thread: one measures, the
/// others wait.
Streams streams_of_host();

}  // namespace kiln::codegen
