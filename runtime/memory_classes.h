// Size classes of the memory pool.
#pragma once
#include "runtime/tensor_type.h"

#include <bit>
#include <cstddef>

/// Size classes of the pool: multiples of 64 bytes up to 1 KiB, then eight classes per doubling, so that at
/// most an eighth of a block is wasted. The class of a block follows from its requested size, so blocks need
/// no header.
namespace kiln::memory {

inline constexpr std::size_t alignment = 64;
inline constexpr std::size_t max_bytes = max_array_bytes;

constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= 1024) return bytes <= 64 ? 1 : (bytes + 63) / 64;
  const std::size_t m = bytes - 1;
  const auto lg = static_cast<std::size_t>(std::bit_width(m)) - 1;
  return 17 + (lg - 10) * 8 + ((m >> (lg - 3)) & 7);
}

constexpr std::size_t class_bytes(std::size_t c) {
  if (c <= 16) return c * 64;
  const std::size_t lg = (c - 17) / 8 + 10;
  return (9 + (c - 17) % 8) << (lg - 3);
}

inline constexpr std::size_t class_count = class_of(max_bytes) + 1;

static_assert(class_bytes(class_of(1024)) == 1024 && class_bytes(class_of(1025)) == 1152);
static_assert(class_bytes(class_of(2048)) == 2048 && class_of(2049) == class_of(2048) + 1);

}  // namespace kiln::memory
