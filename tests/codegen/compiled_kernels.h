// Counts the kernels that a call compiles.
#pragma once
#include <kiln/stats.h>

/// How many kernels `use` compiles.
template <class Use>
std::uint64_t compiled_by(Use use) {
  const std::uint64_t before = kiln::stats().kernels_compiled;
  use();
  return kiln::stats().kernels_compiled - before;
}
