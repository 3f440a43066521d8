// Layers of image networks: convolutions in groups, per channel, with borders, followed by poolings; layers
// alone, whose arrays keep their layout; cumulative sums.
#include "families.h"

#include <algorithm>
#include <fmt/format.h>

namespace graphs {

using namespace kiln;

namespace {

using Extents = std::vector<std::int64_t>;

struct Picture {
  std::int64_t batch, channels, height, width;
};

struct Filters {
  std::int64_t count, groups, height, width, pad, stride;
};

/// Enough of everything for Winograd's algorithm.
Picture large_picture(Maker& m) {
  const auto side = [&] { return 9 + static_cast<std::int64_t>(m.pick(3)); };
  const std::int64_t batch = m.extent({2}), height = side(), width = side();
  return {batch, 16, height, width};
}

Picture any_picture(Maker& m) {
  const auto side = [&] { return m.chance(10) ? 1 : 4 + static_cast<std::int64_t>(m.pick(8)); };
  const std::int64_t batch = m.extent({2}), channels = m.extent({3, 4, 6, 16}, 8), height = side(),
                     width = side();
  return {batch, channels, height, width};
}

Filters any_filters(Maker& m, const Picture& p) {
  Filters f{m.extent({2, 5, 16, 17}, 8), 1, 1, 1, 0, m.chance(4) ? 2 : 1};
  const auto taps = [&](std::int64_t side) { return std::min(side, m.one_of(Extents{1, 3, 3, 2})); };
  f.height = taps(p.height);
  f.width = taps(p.width);
  if (m.chance(2)) f.pad = std::min(f.height, f.width) / 2;
  switch (m.pick(8)) {
    case 0:  // a kernel, or two, for each channel
      f.groups = p.channels;
      f.count = p.channels * m.extent({2});
      break;
    case 1:
      if (p.channels % 2 == 0) f.groups = 2;
      if (p.channels % 3 == 0) f.groups = 3;
      f.count = f.groups * m.extent({3, 8});
      break;
    default:
      break;
  }
  return f;
}

Made convolution(Maker& m, const Made& x, const Filters& f) {
  const Shape shape{f.count, x.shape()[1] / f.groups, f.height, f.width};
  MadeList inputs{x, m.variable(shape, x.dtype())};
  const bool bias = m.chance(3);
  if (bias) inputs.push_back(m.variable({f.count}, x.dtype()));
  return m.one("Convolution", inputs,
               {{"kernel", pair(f.height, f.width)},
                {"pad", pair(f.pad, f.pad)},
                {"stride", pair(f.stride, f.stride)},
                {"num_filter", fmt::format("{}", f.count)},
                {"num_group", fmt::format("{}", f.groups)},
                {"no_bias", bias ? "False" : "True"}});
}

/// Pointwise operators that a kernel of a product may end with.
void follow(Maker& m, MadeList& made, DType dtype) {
  const Shape result = made.back().shape();
  const auto then = [&](const std::string& op, MadeList others) {
    others.insert(others.begin(), made.back());
    made.push_back(m.one(op, others));
  };
  if (m.chance(2)) then("broadcast_mul", {m.variable({1, result[1], 1, 1}, dtype)});
  if (m.chance(3)) then("elemwise_add", {m.array(result, dtype)});
  if (!m.chance(4)) then(m.one_of({"relu", "tanh", "square"}), {});
}

Made pooling(Maker& m, const Made& x) {
  const auto window = [&](std::size_t axis) {
    return std::min(x.shape()[axis], m.chance(2) ? 2 : m.one_of(Extents{1, 2, 3}));
  };
  const std::int64_t down = window(2), across = window(3);
  const bool apart = m.chance(6);
  return m.one("Pooling", {x},
               {{"kernel", pair(down, across)},
                {"stride", apart ? "(2, 1)" : pair(down, across)},
                {"pool_type", m.one_of({"max", "avg", "sum"})}});
}

/// One axis of space.
MadeList along_line(Maker& m) {
  const std::int64_t batch = m.extent({2}), channels = m.extent({3, 4}), line = m.extent({7, 17, 33}),
                     filters = m.extent({2, 5, 17}), taps = std::min(line, m.extent({3}));
  const DType dtype = m.pick_float();
  const Made x = m.array({batch, channels, line}, dtype), w = m.variable({filters, channels, taps}, dtype);
  Made y = m.one("Convolution", {x, w},
                 {{"kernel", fmt::format("({},)", taps)},
                  {"pad", fmt::format("({},)", m.chance(2) ? taps / 2 : 0)},
                  {"num_filter", fmt::format("{}", filters)},
                  {"no_bias", "True"}});
  if (!m.chance(3)) y = pointwise_of(m, y);
  return {y};
}

/// Overlapping windows with borders, of lines that are short or long.
Made pooling_alone(Maker& m, DType dtype) {
  const Picture p = any_picture(m);
  const std::int64_t width = m.one_of(Extents{p.width, p.width, 17, 31, 40});
  const Made x = m.variable({p.batch, p.channels, p.height, width}, dtype);
  const std::int64_t down = std::min<std::int64_t>(p.height, m.one_of(Extents{1, 2, 3, 5})),
                     across = m.one_of(Extents{1, 2, 3, 3, 4}), border = std::min(down, across) / 2;
  return m.one("Pooling", {x},
               {{"kernel", pair(down, across)},
                {"stride", pair(m.one_of(Extents{1, 2, 2}), m.one_of(Extents{1, 2, 2, 3}))},
                {"pad", m.chance(3) ? "(0, 0)" : pair(border, border)},
                {"pool_type", m.one_of({"max", "max", "avg", "sum"})}});
}

Made transposed_convolution(Maker& m, DType dtype) {
  const Picture p = any_picture(m);
  const std::int64_t filters = m.extent({2, 5, 9, 17}), taps = m.one_of(Extents{2, 2, 3, 4}),
                     stride = m.one_of(Extents{1, 2, 2, 3}), width = m.one_of(Extents{p.width, p.width, 17});
  const Made x = m.variable({p.batch, p.channels, p.height, width}, dtype),
             w = m.variable({p.channels, filters, taps, taps}, dtype);
  const std::int64_t border = m.chance(2) ? (taps - 1) / 2 : 0;
  return m.one("Deconvolution", {x, w},
               {{"kernel", pair(taps, taps)},
                {"stride", pair(stride, stride)},
                {"pad", pair(border, border)},
                {"num_filter", fmt::format("{}", filters)},
                {"no_bias", "True"}});
}

Made cumulative_sum(Maker& m) {
  const Shape shape{m.extent({2, 3}), m.extent({2, 5}), m.extent({3, 17, 70, 150, 300})};
  const DType dtype = m.one_of(std::vector{DType::f32, DType::f16, DType::f64, DType::i32});
  return m.one("_np_cumsum", {m.chance(2) ? m.variable(shape, dtype) : m.array(shape, dtype)},
               {{"axis", fmt::format("{}", m.pick(3))}});
}

MadeList alone(Maker& m) {
  const DType dtype = m.one_of(std::vector{DType::f32, DType::f32, DType::f64, DType::f16});
  Made y = m.chance(3)   ? cumulative_sum(m)
           : m.chance(2) ? pooling_alone(m, dtype)
                         : transposed_convolution(m, dtype);
  if (m.chance(2)) y = pointwise_of(m, y);
  return {y};
}

}  // namespace

MadeList layers(Maker& m) {
  if (m.chance(6)) return along_line(m);
  if (m.chance(4)) return alone(m);
  const bool by_winograd = m.chance(3);
  const Picture p = by_winograd ? large_picture(m) : any_picture(m);
  const DType dtype =
      !by_winograd && m.chance(3) ? m.one_of(std::vector{DType::f16, DType::f64}) : DType::f32;
  const Filters f = by_winograd ? Filters{17, 1, 3, 3, m.chance(2) ? 1 : 0, 1} : any_filters(m, p);
  // Mostly small arrays; what comes from outside takes other ways than what was computed.
  const Shape shape{p.batch, p.channels, p.height, p.width};
  const Made x = m.chance(3) ? m.variable(shape, dtype) : m.array(shape, dtype);
  MadeList made{convolution(m, x, f)};
  follow(m, made, dtype);
  if (m.chance(4)) {
    // Between two convolutions channels stay where the first one leaves them.
    const Shape s = made.back().shape();
    const Picture between{s[0], s[1], s[2], s[3]};
    made.push_back(convolution(m, made.back(), any_filters(m, between)));
    follow(m, made, dtype);
  }
  if (!m.chance(4)) made.push_back(pooling(m, made.back()));
  // Mostly nothing else sees what is in between.
  if (!m.chance(4)) made = {made.back()};
  return made;
}

}  // namespace graphs
