#pragma once
#include "launch.h"

namespace kiln::ptx {

/// Whether the card takes a launch of that size; says on stderr why it does not.
bool is_possible(const Kernel&, Extent grid, Extent block, std::size_t shared_bytes);

}  // namespace kiln::ptx
