// Hashes of numbers.
#pragma once
#include <bit>
#include <cstdint>

namespace kiln {

/// Combines a hash with one more number.
constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
  return std::rotl((hash ^ number) * 0x9e3779b97f4a7c15ull, 29) + number;
}

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014): a bijection whose output bits depend on all input
/// bits.
constexpr std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace kiln
