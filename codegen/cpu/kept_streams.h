#pragma once
#include "codegen/cpu/machine.h"

namespace kiln::codegen {

/// The Streams of this machine: those that Kiln's build measured on one of this kind, or the disk cache kept,
/// else measured and stored there. Processes thus choose alike, and share kernels. Where neither has them, and
/// nothing can be stored, each process measures.
/// Any thread: one measures, the others wait.
Streams streams_of_host();

}  // namespace kiln::codegen
