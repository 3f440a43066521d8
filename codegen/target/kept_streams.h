#pragma once
#include "codegen/target/machine.h"

namespace kiln::codegen {

/// The Streams of this machine: those that the disk cache kept, else measured and stored there. Processes
/// with one disk cache thus choose alike, and share kernels. Without a disk cache each process measures. Not
/// those that Kiln's build measured, beside compilers that use the caches, too.
/// Any thread: one measures, the others wait.
Streams streams_of_host();

}  // namespace kiln::codegen
