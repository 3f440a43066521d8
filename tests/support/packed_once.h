// Parameters that compiled calls pack once.
#pragma once
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>

/// Checks that hybridized calls have the eager bits, and that a later one makes no prepacked constant and
/// runs no kernel whose name has `parameter`.
inline void check_packed_once(kiln::HybridBlock& net, const kiln::Tensor& x, const std::string& parameter) {
  const kiln::Tensor y = net(x);
  net.hybridize();
  CHECK(same_bits(net(x), y));
  const std::uint64_t before = kiln::stats().prepacked;
  const kiln::Profile profile;
  CHECK(same_bits(net(x), y));
  CHECK(kiln::stats().prepacked == before);
  for (const kiln::Profile::Kernel& kernel : profile.kernels())
    CHECK_THAT(kernel.name, !Catch::Contains(parameter));
}
