// Code that depends on the width of elements only.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kiln {

/// `use` with a value of the unsigned type that has as many bytes as an element: 1, 2, 4 or 8. For code that
/// only moves or compares bits.
template <class Use>
decltype(auto) with_unsigned(std::size_t bytes, const Use& use) {
  switch (bytes) {
    case 1:
      return use(std::uint8_t{});
    case 2:
      return use(std::uint16_t{});
    case 4:
      return use(std::uint32_t{});
    default:
      return use(std::uint64_t{});
  }
}

}  // namespace kiln
