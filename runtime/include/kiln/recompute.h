// The choice of recomputation in backward passes.
#pragma once
#include <kiln/export.h>

#include <cstdint>

namespace kiln {

/// The values that the backward pass of a compiled call computes again, instead of reading saved ones. Bits
/// never depend on it. Random numbers are never drawn again.
enum class Recompute : std::uint8_t {
  /// No arithmetic; only views and conversions of saved values.
  none,
  /// Arithmetic of a few cycles that ends in the kernel which reads it.
  cheap,
  /// All pointwise arithmetic. Saves the fewest bytes short of computing products again.
  all,
  /// Everything within a child block, from the child's inputs, products included. Takes the memory of the
  /// largest child instead of all children, for up to one more forward pass.
  blocks,
};

}  // namespace kiln
