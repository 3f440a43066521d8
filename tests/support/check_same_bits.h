// A check that two lists of arrays have the same bits.
#pragma once
#include "same_bits.h"

#include <catch2/catch.hpp>
#include <vector>

/// Checks that both lists hold the same arrays.
inline void check_same_bits(const std::vector<kiln::Tensor>& a, const std::vector<kiln::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(same_bits(a[i], b[i]));
}
