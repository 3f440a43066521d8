// Values of traces that are over, as a loop's body leaves them in a variable of the program.
#pragma once
#include "frontend/tensor/array.h"

#include <source_location>
#include <string_view>

namespace kiln {

class Trace;

/// Whether `trace`, the thread's or null, can compute with a traced array. It cannot if the array's trace is
/// over, nor if the array is a Symbol among values with shapes.
bool is_known_here(const detail::Array& traced, const Trace* trace);

/// Throws for an array that is not known here, with the place where it was made and the remedy. `use`: the
/// use up to the name of the value, such as "relu: the input 'data' is".
[[noreturn]] void fail_unknown(const detail::Array& traced, std::string_view use, std::source_location where);

/// Throws for a traced tensor that `trace` does not know.
void check_known(const Tensor& t, const Trace* trace, std::string_view use, std::source_location where);

/// "the body of the foreach", of the subgraph "foreach0".
std::string_view body_kind(std::string_view subgraph_name);

}  // namespace kiln
