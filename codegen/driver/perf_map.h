// The names of kernels for perf.
#pragma once
#include <cstddef>
#include <string_view>

namespace kiln::codegen {

/// Adds code to the map of this process, /tmp/perf-PID.map, where perf looks names of generated code up.
/// Other generators of code in the process may add to it too. A map that cannot be written is a warning. Any
/// thread.
void add_to_perf_map(std::string_view name, const void* code, std::size_t bytes);

}  // namespace kiln::codegen
