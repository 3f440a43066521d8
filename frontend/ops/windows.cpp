#include "frontend/ops/windows.h"

#include <algorithm>

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

void require_channels_first(const Attrs& a) {
  if (a.is_none("layout")) return;
  const std::string& layout = a.word("layout");
  if (!layout.empty() && layout[1] != 'C') fail("layout {} is not supported: use NCW, NCHW or NCDHW", layout);
}

AttrSpec layout_attr() {
  return {"layout", AttrKind::word, None{}, true, {"NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"}};
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

Value transposed_convolution(Primitives& p, Value x, Value weight, const ir::ConvSpec& spec,
                             const Shape& adjust) {
  const ir::Window& w = spec.window;
  const Shape data = p.shape(x), kernel = w.kernel;
  const int spatial = kernel.rank();
  const std::int64_t channels = data[1], filters = times(p.shape(weight)[1], spec.groups);

  // The image with stride - 1 zeros between its pixels, and with a border of zeros, or cropped if the padding
  // is negative.
  Shape spread = data, start = Shape::filled(data.rank(), 0), step = Shape::filled(data.rank(), 1);
  ir::ConvSpec flipped{.window = {kernel, Shape::filled(spatial, 1), w.dilate, Shape::filled(spatial, 0),
                                  Shape::filled(spatial, 0)},
                       .groups = spec.groups};
  for (int i = 0; i < spatial; ++i) {
    if (data[at(i + 2)] < 1) fail("a transposed convolution needs pixels, got {}", data.str());
    step[at(i + 2)] = w.stride[at(i)];
    spread[at(i + 2)] = times(w.stride[at(i)], data[at(i + 2)] - 1) + 1;
  }
  if (!(spread == data)) x = p.insert(p.full({p.dtype(x), spread}, 0), x, start, step);
  Shape limit = spread;
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t reach = times(w.dilate[at(i)], kernel[at(i)] - 1);
    const std::int64_t low = reach - w.pad_low[at(i)], high = reach - w.pad_high[at(i)] + adjust[at(i)];
    if (spread[at(i + 2)] + low + high <= reach)
      fail("kernel {}, stride {} and pad {} leave nothing of data {}", kernel.str(), w.stride.str(),
           w.pad_low.str(), data.str());
    flipped.window.pad_low[at(i)] = std::max<std::int64_t>(low, 0);
    flipped.window.pad_high[at(i)] = std::max<std::int64_t>(high, 0);
    start[at(i + 2)] = std::max<std::int64_t>(-low, 0);
    limit[at(i + 2)] += std::min<std::int64_t>(high, 0);
  }
  x = p.slice(x, start, limit, Shape::filled(data.rank(), 1));

  // The weight with its first two axes exchanged in each group, and its kernels rotated by 180 degrees.
  Shape split{spec.groups, channels / spec.groups, filters / spec.groups}, order{0, 2, 1};
  Shape exchanged{filters, channels / spec.groups}, axes;
  for (int i = 0; i < spatial; ++i) {
    split.push_back(kernel[at(i)]);
    exchanged.push_back(kernel[at(i)]);
    order.push_back(i + 3);
    axes.push_back(i + 2);
  }
  Value turned = p.reshape(p.transpose(p.reshape(weight, split), order), exchanged);
  return p.convolution(x, p.reverse(turned, axes), flipped);
}

}  // namespace kiln::ops
