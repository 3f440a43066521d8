// Keys of random numbers in data: functions of their use, never of when or by which thread they are drawn.
#pragma once
#include "runtime/hash.h"

#include <cstdint>
#include <initializer_list>

namespace kiln::data {

/// The use of a key; no two uses share their numbers.
enum class Purpose : std::uint64_t { seed, order, sample, batch };

/// A seed for this purpose, of these numbers.
constexpr std::uint64_t key_of(Purpose purpose, std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t key = static_cast<std::uint64_t>(purpose);
  for (const std::uint64_t n : numbers) key = scrambled(key + 0x9e3779b97f4a7c15ull) ^ scrambled(~n);
  return scrambled(key);
}

/// A sequence of uniform numbers.
class Uniform {
 public:
  explicit constexpr Uniform(std::uint64_t key) : state_(key) {}
  /// 0 <= x < n, each with the same probability: the high half of n times a number of 64 bits. Numbers whose
  /// low half would favour some x are rejected (Lemire 2019).
  constexpr std::uint64_t below(std::uint64_t n) {
    const std::uint64_t surplus = -n % n;
    for (;;) {
      const unsigned __int128 product = static_cast<unsigned __int128>(next()) * n;
      if (static_cast<std::uint64_t>(product) >= surplus) return static_cast<std::uint64_t>(product >> 64);
    }
  }

 private:
  constexpr std::uint64_t next() { return scrambled(state_ += 0x9e3779b97f4a7c15ull); }
  std::uint64_t state_;
};

/// A seed from the program's stream of random numbers.
std::uint64_t drawn_seed();

}  // namespace kiln::data
