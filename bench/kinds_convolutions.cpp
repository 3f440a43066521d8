// Convolutions alone, with weights as parameters, and pooling.
#include "bench/kinds.h"

using namespace kiln;

namespace bench {
namespace {

struct Window {
  std::int64_t kernel = 3, stride = 1, pad = 1, dilation = 1;
};

/// Images (batch, channels, side, side); the weights have `filters` filters in `groups` groups.
struct Extents {
  std::int64_t batch = 1, channels, side, filters, groups = 1;
};

Sizes sizes_of(const Extents& e, const Window& w) {
  return {{"x", {e.batch, e.channels, e.side, e.side}},
          {"filters", e.filters},
          {"kernel", w.kernel},
          {"stride", w.stride},
          {"pad", w.pad},
          {"dilation", w.dilation},
          {"groups", e.groups}};
}

template <class Layer>
Workload convolution(const Sizes& sizes) {
  const auto number = [&](const char* name) { return sizes.at(name).get<std::int64_t>(); };
  const auto both = [&](const char* name) { return nn::Extents(Shape{number(name), number(name)}); };
  const Shape x = shape_of(sizes, "x");
  return {std::make_shared<Layer>(number("filters"), nn::ConvOptions{.kernel_size = both("kernel"),
                                                                     .strides = both("stride"),
                                                                     .padding = both("pad"),
                                                                     .dilation = both("dilation"),
                                                                     .groups = number("groups"),
                                                                     .in_channels = x[1]}),
          {randn(x)}};
}

Kind kind(const char* name, std::function<Extents(Draw&)> draw, const Window& w) {
  return {name, [=](Draw& d) { return sizes_of(draw(d), w); }, convolution<nn::Conv2D>};
}

std::int64_t side(Draw& d) { return d.extent(7, 112); }

/// Channels that keep an image below a million elements.
std::int64_t channels(Draw& d, std::int64_t side, std::int64_t high = 256) {
  return d.extent(16, std::clamp<std::int64_t>((1 << 20) / (side * side), 16, high));
}

Extents full(Draw& d) {
  const std::int64_t s = side(d), c = channels(d, s);
  return {.channels = c, .side = s, .filters = channels(d, s)};
}
Extents depthwise(Draw& d) {
  const std::int64_t s = side(d), c = channels(d, s, 960);
  return {.channels = c, .side = s, .filters = c, .groups = c};
}
/// Two to sixteen channels a group.
Extents grouped(Draw& d) {
  const std::int64_t s = d.extent(7, 56), groups = d.extent(2, 32), in_group = d.extent(2, 16);
  return {.channels = groups * in_group, .side = s, .filters = groups * in_group, .groups = groups};
}
Extents first(Draw& d) {
  return {.batch = d.one_of({1, 4}), .channels = 3, .side = d.extent(64, 320), .filters = d.extent(16, 64)};
}

Kind transposed() {
  const auto draw = [](Draw& d) {
    const std::int64_t s = d.extent(4, 64), kernel = d.one_of({2, 3, 4});
    return sizes_of({.channels = channels(d, s), .side = s, .filters = d.extent(3, 128)},
                    {.kernel = kernel, .stride = 2, .pad = (kernel - 1) / 2});
  };
  return {"transposed_convolution", draw, convolution<nn::Conv2DTranspose>};
}

Kind max_pool() {
  return unary("max_pool", draw_images, [](F& f, const Tensor& x, const Sizes&) {
    return f.Pooling(x, {.kernel = {3, 3}, .pool_type = "max", .stride = {2, 2}, .pad = {1, 1}});
  });
}

}  // namespace

std::vector<Kind> convolution_kinds() {
  return {
      kind("convolution1", full, {.kernel = 1, .pad = 0}),
      kind("convolution3", full, {}),
      kind("convolution3_stride2", full, {.stride = 2}),
      kind("depthwise3", depthwise, {}),
      kind("depthwise3_stride2", depthwise, {.stride = 2}),
      kind("depthwise5", depthwise, {.kernel = 5, .pad = 2}),
      kind("grouped3", grouped, {}),
      kind("first7_stride2", first, {.kernel = 7, .stride = 2, .pad = 3}),
      kind("first3_dilated", first, {.pad = 2, .dilation = 2}),
      transposed(),
      max_pool(),
  };
}

}  // namespace bench
