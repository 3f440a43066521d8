// Packs and unpacks the elements of parameters.
#include "runtime/packing.h"

#include "runtime/element_width.h"
#include "runtime/tensor_type.h"
#include "runtime/threads.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace kiln {
namespace {

std::int64_t panels_of(const Packing& p) { return p.columns / p.panel + (p.columns % p.panel != 0); }

/// Calls `use(i, j)` for each element: the i-th of the prepacked constant is the j-th of the parameter.
template <class Use>
void for_each_element(const Packing& p, const Use& use) {
  constexpr std::int64_t task_elements = 1 << 16;
  const std::int64_t panels = panels_of(p), rows = p.channels * p.taps,
                     panel_elements = p.packed_channels * p.taps * p.panel;
  if (panel_elements == 0) return;
  const std::int64_t channel_block = std::min(p.channel_block, p.packed_channels);
  const auto over_panels = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t group = task / panels, first = task % panels * p.panel;
      const std::int64_t width = std::min(p.panel, p.columns - first);
      const std::int64_t step = p.columns_last ? 1 : rows;  // between columns of the parameter
      for (std::int64_t block = 0; block < p.channels; block += channel_block)
        for (std::int64_t tap = 0; tap < p.taps; ++tap) {
          const std::int64_t length = std::min(channel_block, p.packed_channels - block);
          const std::int64_t before = task * panel_elements + (block * p.taps + tap * length) * p.panel;
          for (std::int64_t c = 0; c < std::min(length, p.channels - block); ++c) {
            const std::int64_t at = p.columns_last
                                        ? (group * p.channels + block + c) * p.columns + first
                                        : (group * p.columns + first) * rows + (block + c) * p.taps + tap;
            const std::int64_t row = before + c / p.values * p.values * p.panel + c % p.values;
            for (std::int64_t n = 0; n < width; ++n) use(row + n * p.values, at + n * step);
          }
        }
    }
  };
  parallel_ranges(p.groups * panels, std::max<std::int64_t>(1, task_elements / panel_elements), over_panels);
}

}  // namespace

bool Packing::fits(std::int64_t parameter_bytes, std::int64_t packed_bytes) const {
  const std::array all{groups, columns, channels, taps};
  const bool sound = (element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8) &&
                     panel > 0 && channel_block > 0 && (taps == 1 || !columns_last) &&
                     packed_channels >= channels && values > 0 && packed_channels % values == 0 &&
                     (values == 1 || channel_block % values == 0) &&
                     std::all_of(all.begin(), all.end(), [](std::int64_t n) { return n > 0; });
  if (!sound || product_of(all, element_bytes) != parameter_bytes) return false;
  return product_of(std::array{groups, panels_of(*this), panel, packed_channels, taps}, element_bytes) ==
         packed_bytes;
}

void unpack(const Packing& packing, const std::byte* packed, std::byte* parameter) {
  with_unsigned(static_cast<std::size_t>(packing.element_bytes), [&]<class T>(T) {
    const T* const from = reinterpret_cast<const T*>(packed);
    T* const to = reinterpret_cast<T*>(parameter);
    for_each_element(packing, [=](std::int64_t i, std::int64_t j) { to[j] = from[i]; });
  });
}

bool unpacks_to(const Packing& packing, const std::byte* packed, const std::byte* parameter) {
  std::atomic<bool> equal{true};
  with_unsigned(static_cast<std::size_t>(packing.element_bytes), [&]<class T>(T) {
    const T* const a = reinterpret_cast<const T*>(packed);
    const T* const b = reinterpret_cast<const T*>(parameter);
    for_each_element(packing, [=, &equal](std::int64_t i, std::int64_t j) {
      if (a[i] != b[j]) equal.store(false, std::memory_order_relaxed);
    });
  });
  return equal;
}

}  // namespace kiln
