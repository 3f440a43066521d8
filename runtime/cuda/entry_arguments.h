// The convention of arguments between launches and the code of kernels (codegen/cuda/entry.h).
#pragma once
#include <cstddef>

namespace kiln::nvidia {

/// Maximum size of all arguments of a launch, before PTX 8.1.
constexpr std::size_t max_argument_bytes = 4096;

/// Whether a kernel takes its operands' addresses and parameters by value. Else it takes the address of both
/// arrays in memory, the second following the first. The extent and the bytes of scratch memory are always by
/// value.
constexpr bool takes_arrays_by_value(std::size_t operands, std::size_t params) {
  return 8 * (operands + params) + 2 * 8 <= max_argument_bytes;
}

}  // namespace kiln::nvidia
