// The limits of the emulated card.
#pragma once
#include "launch.h"

namespace kiln::ptx {

/// Whether the card takes a launch of that size; says on stderr why it does not.
bool is_possible(const Kernel&, Extent grid, Extent block, std::size_t shared_bytes);

/// With cuFuncSetAttribute.
constexpr std::size_t max_shared_of_card = std::size_t{163} << 10;

/// A number of CUdevice_attribute; 0 for what is not known.
int attribute_of_card(int attribute);

}  // namespace kiln::ptx
