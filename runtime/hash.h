#pragma once
#include <bit>
#include <cstdint>

namespace kiln {

/// Combines a hash with one more number.
constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
  return std::rotl((hash ^ number) * 0x9e3779b97f4a7c15ull, 29) + number;
}

}  // namespace kiln
