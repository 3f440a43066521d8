// Helpers of operators with sliding windows.
#include "frontend/ops/windows.h"

namespace kiln::ops {

Shape or_all(const Shape& given, int rank, std::int64_t fallback) {
  return given.empty() ? Shape::filled(rank, fallback) : given;
}

/// Validates a window from a file before it is computed with.
void require_sizes(std::string_view name, const Shape& sizes, int rank, std::int64_t least) {
  if (sizes.rank() != rank) fail("{} {} must have {} numbers", name, sizes.str(), rank);
  for (std::int64_t s : sizes)
    if (s < least || s >= 1 << 30) fail("{} {} must be from {} to 2^30", name, sizes.str(), least);
}

void require_windows_fit(const ir::PartialShape& data, const ir::Window& w) {
  if (!data.ranked) return;
  for (int i = 0; i < w.kernel.rank(); ++i) {
    const std::int64_t extent = data.extents[at(i + 2)];
    const std::int64_t needed = w.dilate[at(i)] * (w.kernel[at(i)] - 1) + 1 - 2 * w.pad_low[at(i)];
    if (extent == ir::PartialShape::unknown || extent >= needed) continue;
    const bool dense = w.dilate == Shape::filled(w.kernel.rank(), 1);
    fail(Mistake::window_too_large, "kernel size exceed input: kernel {} on data {} with pad {}{}",
         w.kernel.str(), data.str(), w.pad_low.str(), dense ? "" : " and dilate " + w.dilate.str());
  }
}

void require_channels_first(const Attrs& a) {
  if (a.is_none("layout")) return;
  const std::string& layout = a.word("layout");
  if (!layout.empty() && layout[1] != 'C') fail("layout {} is not supported: use NCW, NCHW or NCDHW", layout);
}

AttrSpec layout_attr() {
  return meaning({"layout", AttrKind::word, None{}, true, {"NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"}},
                 "The order of the axes of data and result. None and orders that begin with NC are "
                 "supported; others throw.");
}

ir::ConvSpec conv_spec(const Attrs& a) {
  const Shape& kernel = a.tuple("kernel");
  int n = kernel.rank();
  ir::ConvSpec spec;
  spec.groups = a.integer("num_group");
  spec.window = {kernel, or_all(a.tuple("stride"), n, 1), or_all(a.tuple("dilate"), n, 1),
                 or_all(a.tuple("pad"), n, 0), or_all(a.tuple("pad"), n, 0)};
  require_sizes("kernel", kernel, n, 1);
  require_sizes("stride", spec.window.stride, n, 1);
  require_sizes("dilate", spec.window.dilate, n, 1);
  require_sizes("pad", spec.window.pad_low, n, 0);
  return spec;
}

}  // namespace kiln::ops
