#pragma once
#include <cstddef>

/// What launches of a GPU's kernels and their code agree on (codegen/cuda/entry.h).
namespace kiln::nvidia {

/// Of all arguments of a launch, before PTX 8.1.
constexpr std::size_t max_argument_bytes = 4096;

/// Whether a kernel takes its operands' addresses and parameters by value, or the address of them in memory:
/// both arrays, one behind the other. The extent and the bytes of scratch memory are by value always.
constexpr bool takes_arrays_by_value(std::size_t operands, std::size_t params) {
  return 8 * (operands + params) + 2 * 8 <= max_argument_bytes;
}

}  // namespace kiln::nvidia
