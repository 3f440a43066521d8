// Poolings: the maxima and sums that kiln.reduce_window in ir/KilnOps.td defines, to the bit, for every way
// to cut planes into lines and registers.
#include "function_net.h"
#include "window_definitions.h"

#include <limits>

using namespace kiln;
using window_definitions::place_of;
using window_definitions::Triple;
using window_definitions::Window;

namespace {

struct Maps {
  std::int64_t batch, channels;
  Window window;

  Shape shape() const { return window.shape(batch, channels, window.in()); }
};

Maps any_maps() {
  return GENERATE(
      // Planes that are read without copies, of one register a line, of two, of part of one.
      Maps{3, 5, {{11, 11}, {3, 3}, {2, 2}, {}, {1, 1}}}, Maps{1, 7, {{16, 16}, {3, 3}, {2, 2}, {}, {1, 1}}},
      Maps{2, 3, {{31, 31}, {3, 3}, {2, 2}, {}, {1, 1}}}, Maps{1, 4, {{13, 30}, {2, 2}, {2, 2}}},
      Maps{1, 9, {{7, 7}, {3, 3}, {1, 1}, {}, {1, 1}}}, Maps{1, 2, {{14, 20}, {3, 5}, {3, 3}, {}, {1, 2}}},
      Maps{1, 3, {{9, 8}, {9, 8}}}, Maps{2, 2, {{8, 28}, {3, 4}, {1, 4}, {}, {1, 2}}},
      // Lines that are copied: of several registers, of whole ones, with more lines than a tile has.
      Maps{2, 3, {{48, 48}, {3, 3}, {2, 2}, {}, {1, 1}}}, Maps{1, 2, {{110, 67}, {3, 3}, {2, 2}, {}, {1, 1}}},
      Maps{1, 2, {{20, 64}, {2, 2}, {2, 2}}}, Maps{1, 1, {{5, 200}, {3, 7}, {2, 3}, {}, {1, 3}}},
      Maps{1, 3, {{40, 12}, {2, 3}, {1, 1}, {}, {1, 1}}}, Maps{1, 2, {{24, 33}, {5, 5}, {1, 1}, {}, {2, 2}}},
      // Windows of one and of three axes; many taps; large strides.
      Maps{2, 6, {{37}, {5}, {2}, {}, {2}}}, Maps{1, 3, {{100}, {3}, {3}, {}, {1}}},
      Maps{1, 2, {{4, 6, 9}, {2, 3, 3}, {1, 2, 1}, {}, {1, 1, 1}}}, Maps{1, 2, {{12, 40}, {9, 9}, {3, 3}}},
      Maps{1, 3, {{3, 41}, {2, 5}, {1, 5}}}, Maps{1, 1, {{1, 1}, {1, 1}}});
}

/// The taps of the last axis from the first on, then of the axis before it, and so on.
template <class T, class Combine>
std::vector<T> combined(const Maps& maps, const std::vector<T>& x, T identity, Combine combine) {
  const Window& w = maps.window;
  const Triple in = w.in(), out = w.out(), taps = w.taps();
  const auto of_map = static_cast<std::size_t>(window_definitions::count(in));
  std::vector<T> results;
  for (std::int64_t map = 0; map < maps.batch * maps.channels; ++map)
    for (std::int64_t o = 0; o < window_definitions::count(out); ++o) {
      const auto value = [&](const Triple& tap) {
        const std::int64_t seen = w.seen(place_of(o, out), tap);
        return seen < 0 ? identity
                        : x[static_cast<std::size_t>(map) * of_map + static_cast<std::size_t>(seen)];
      };
      const auto chain = [&](std::int64_t count, auto element) {
        T sum = element(0);
        for (std::int64_t i = 1; i < count; ++i) sum = combine(sum, element(i));
        return sum;
      };
      results.push_back(chain(taps[0], [&](std::int64_t a) {
        return chain(taps[1], [&](std::int64_t b) {
          return chain(taps[2], [&](std::int64_t c) { return value({a, b, c}); });
        });
      }));
    }
  return results;
}

PoolingOptions options(const Window& w, const std::string& type) {
  return {.kernel = w.kernel, .pool_type = type, .stride = w.stride, .pad = w.pad};
}

/// The pooling alone, which reads its input as it lies, and after another operation; both with what follows
/// them.
Tensor pooled(const Maps& maps, const std::string& type, const Tensor& x) {
  const auto after = [&](F& f, const Tensor& in) {
    const Tensor y = f.Pooling(in, options(maps.window, type));
    return Tensors{y, f.clip(y + 0.25, {.a_min = 0, .a_max = 0.5})};
  };
  const Tensor alone = everywhere([&](F& f, const Tensors& in) { return after(f, in[0]); }, {x})[0];
  const Tensor zeros = nd::zeros(x.shape(), x.dtype());
  const Tensor later =
      everywhere([&](F& f, const Tensors& in) { return after(f, in[0] + in[1]); }, {x, zeros})[0];
  CHECK(same_bits(alone, later));
  return alone;
}

}  // namespace

TEST_CASE("poolings are those of their definition", "[pooling]") {
  const Maps maps = any_maps();
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16);
  CAPTURE(maps.channels, maps.window.extents, maps.window.kernel, maps.window.stride, name_of(dtype));
  random::seed(7);
  const Tensor x = random::uniform(-2, 1, maps.shape()).astype(dtype);
  const auto check = [&]<class T>(T lowest) {
    const std::vector<T> in = x.to_vector<T>();
    const auto expected = [&](const std::vector<T>& values) {
      return nd::array(values, maps.window.shape(maps.batch, maps.channels, maps.window.out())).astype(dtype);
    };
    CHECK(same_bits(pooled(maps, "max", x),
                    expected(combined(maps, in, lowest, [](T a, T b) { return std::max(a, b); }))));
    CHECK(same_bits(pooled(maps, "sum", x), expected(combined(maps, in, T(0), std::plus<T>()))));
  };
  dtype == DType::f64 ? check(-std::numeric_limits<double>::infinity())
                      : check(-std::numeric_limits<float>::infinity());
}

TEST_CASE("a maximum of a window with a NaN is NaN", "[pooling]") {
  const Maps maps = GENERATE(Maps{1, 2, {{9, 9}, {3, 3}, {2, 2}, {}, {1, 1}}},
                             Maps{1, 2, {{9, 70}, {3, 3}, {2, 2}, {}, {1, 1}}});
  std::vector<float> values(static_cast<std::size_t>(maps.shape().elements()),
                            -std::numeric_limits<float>::infinity());
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[40] = 2;
  const Tensor y = pooled(maps, "max", nd::array(values, maps.shape()));
  const std::vector<float> expected =
      combined(maps, values, -std::numeric_limits<float>::infinity(), [](float a, float b) {
        return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
      });
  CHECK(same_bits(y, nd::array(expected, y.shape())));
}

TEST_CASE("poolings of views and of nothing", "[pooling]") {
  const auto max_of = [](F& f, const Tensor& x) {
    return Tensors{f.Pooling(x, {.kernel = {3, 3}, .pool_type = "max", .stride = {2, 2}, .pad = {1, 1}})};
  };
  const Tensor x = random::uniform(-1, 1, {2, 6, 12, 19});
  // Rows of the batch, which share the elements; every other channel; columns that are not neighbours.
  CHECK(same_bits(everywhere([&](F& f, const Tensors& in) { return max_of(f, in[0]); }, {x[slice(1)]})[0],
                  everywhere([&](F& f, const Tensors& in) { return max_of(f, in[0]); }, {x})[0][slice(1)]));
  const std::function<Tensor(F&, const Tensor&)> views[] = {
      [](F& f, const Tensor& v) {
        return f.slice(v, {.begin = {0, 1, 0, 0}, .end = {2, 6, 12, 19}, .step = {1, 2, 1, 1}});
      },
      [](F& f, const Tensor& v) {
        return f.transpose(v, {0, 1, 3, 2});
      },
      [](F& f, const Tensor& v) {
        return f.broadcast_to(f.slice_axis(v, {.axis = 3, .begin = 0, .end = 1}), {.shape = {2, 6, 12, 19}});
      },
      [](F& f, const Tensor& v) { return f.cast(f.zeros_like(f.cast(v, DType::f64)), DType::f32); }};
  for (const auto& view : views) {
    const Tensor copied =
        everywhere([&](F& f, const Tensors& in) { return Tensors{view(f, in[0])}; }, {x})[0];
    CHECK(same_bits(everywhere([&](F& f, const Tensors& in) { return max_of(f, view(f, in[0])); }, {x})[0],
                    everywhere([&](F& f, const Tensors& in) { return max_of(f, in[0]); }, {copied})[0]));
  }
  const Tensor none = nd::zeros({0, 6, 12, 19});
  CHECK(everywhere([&](F& f, const Tensors& in) { return max_of(f, in[0]); }, {none})[0].shape() ==
        Shape{0, 6, 6, 10});
}
