// Decompression of deflated bytes.
#pragma once
#include "frontend/formats/bytes.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kiln {

/// The container of deflated bytes.
enum class Deflated {
  raw,   ///< nothing: a member of a zip archive
  gzip,  ///< headers and checksums, which are verified: a .gz file
};

/// The unpacked bytes, or the first `most` if there are more. Throws, naming in's file, for damaged and cut
/// bytes among them. Allocates in proportion to the unpacked bytes, not to `most`.
std::vector<std::byte> inflated(const ByteReader& in, std::span<const std::byte> packed, Deflated form,
                                std::uint64_t most);

}  // namespace kiln
