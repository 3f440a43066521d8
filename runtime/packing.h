// The order of a parameter's elements in a prepacked constant.
#pragma once
#include <kiln/export.h>

#include <cstddef>
#include <cstdint>

namespace kiln {

/// The order of a parameter's elements in a prepacked constant that has all of them, and zeros (kiln.pack in
/// ir/KilnOps.td). The parameter is (groups, columns, channels, taps) or, with `columns_last`, (groups,
/// channels, columns). The prepacked constant is (groups, panels, packed_channels / values * taps, panel,
/// values). A panel has a row of `panel` columns for each tap and each `values` channels, which are
/// neighbours. Rows are in the order of blocks of `channel_block` channels, then taps, then the
/// channels of the block. Channels from `channels` on are zeros.
struct Packing {
  std::int64_t element_bytes = 0;  ///< 1, 2, 4 or 8
  std::int64_t groups = 0, columns = 0, channels = 0, taps = 0;
  std::int64_t packed_channels = 0, values = 1;
  std::int64_t panel = 0, channel_block = 0;
  bool columns_last = false;

  bool operator==(const Packing&) const = default;
  /// Whether it describes a parameter and a prepacked constant of these sizes.
  bool fits(std::int64_t parameter_bytes, std::int64_t packed_bytes) const;
};

/// Writes the parameter's elements, as they are in `packed`. On all threads.
void unpack(const Packing& packing, const std::byte* packed, std::byte* parameter);
/// Whether unpack() would write just the bytes of `parameter`. On all threads.
bool unpacks_to(const Packing& packing, const std::byte* packed, const std::byte* parameter);

}  // namespace kiln
