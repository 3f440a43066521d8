// Mapping of objects into the process.
#pragma once
#include "codegen/driver/lower.h"
#include "runtime/executable.h"

namespace kiln::codegen {

/// Maps an object into the process. The code is unmapped with the last copy of Kernel::code; until then no
/// other object may define its symbol. `symbols`: debuggers and perf are told of the code, which then stays
/// mapped until the process ends; an object of the same symbol is the same code. Any thread. Throws when the
/// object cannot be linked.
std::shared_ptr<Kernel> load_object(const KernelObject& object, bool symbols);

/// Drops the names of unmapped code from the linker's table.
void forget_unloaded_symbols();

}  // namespace kiln::codegen
