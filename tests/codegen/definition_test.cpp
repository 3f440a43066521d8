// Convolutions, windows and running sums against the definitions in ir/KilnOps.td, in plain C++, bit by bit:
// one rounding after the other as the text says. (Reductions and products: reduce_test, product_test.)
#include "function_net.h"
#include "window_definitions.h"

#include <array>
#include <cmath>

using namespace kiln;
using namespace window_definitions;

namespace {

constexpr std::int64_t channels_of_block = 16;

/// kiln.convolution, but where Winograd's algorithm is: the contracted index runs over blocks of 16 channels
/// of the group, then the taps, then the channel within the block.
template <class T>
Tensor direct(const Convolution& c, const Tensor& x, const Tensor& w) {
  const auto values = x.to_vector<T>(), weights = w.to_vector<T>();
  const Window& window = c.window;
  const std::int64_t maps = count(window.in()), taps = count(window.taps());
  std::vector<T> results;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t o = 0; o < c.groups * c.out; ++o)
      for (std::int64_t at = 0; at < count(window.out()); ++at) {
        const std::int64_t first = (n * c.groups + o / c.out) * c.in;  // channel
        Chunks<T> chunks;
        for (std::int64_t block = 0; block < c.in; block += channels_of_block)
          for (std::int64_t tap = 0; tap < taps; ++tap)
            for (std::int64_t i = block; i < std::min(block + channels_of_block, c.in); ++i) {
              const std::int64_t seen = window.seen(place_of(at, window.out()), place_of(tap, window.taps()));
              chunks.take(seen < 0 ? T(0) : values[static_cast<std::size_t>((first + i) * maps + seen)],
                          weights[static_cast<std::size_t>((o * c.in + i) * taps + tap)]);
            }
        results.push_back(chunks.sum());
      }
  return Tensor(results, window.shape(c.batch, c.groups * c.out, window.out()));
}

// Winograd's transforms: of each row, then of each column of a square.

template <class T>
std::array<T, 4> of_inputs(const std::array<T, 4>& d) {
  return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
}
template <class T>
std::array<T, 4> of_kernel(const std::array<T, 3>& g) {
  return {g[0], (g[0] + g[1] + g[2]) / 2, (g[0] - g[1] + g[2]) / 2, g[2]};
}
template <class T>
std::array<T, 2> of_sums(const std::array<T, 4>& m) {
  return {(m[0] + m[1]) + m[2], (m[1] - m[2]) - m[3]};
}
template <class T, std::size_t n, class F>
auto both_ways(const std::array<std::array<T, n>, n>& x, F transform) {
  constexpr std::size_t to = std::tuple_size_v<decltype(transform(x[0]))>;
  std::array<std::array<T, to>, n> rows;
  for (std::size_t i = 0; i < n; ++i) rows[i] = transform(x[i]);
  std::array<std::array<T, to>, to> result;
  for (std::size_t j = 0; j < to; ++j) {
    std::array<T, n> column;
    for (std::size_t i = 0; i < n; ++i) column[i] = rows[i][j];
    const auto transformed = transform(column);
    for (std::size_t i = 0; i < to; ++i) result[i][j] = transformed[i];
  }
  return result;
}

using Square = std::array<std::array<float, 4>, 4>;

/// U = G g G', in double and rounded once.
Square transformed_kernel(const float* taps) {
  std::array<std::array<double, 3>, 3> g;
  for (std::size_t i = 0; i < 9; ++i) g[i / 3][i % 3] = taps[i];
  const auto wide = both_ways(g, of_kernel<double>);
  Square u;
  for (std::size_t i = 0; i < 16; ++i) u[i / 4][i % 4] = static_cast<float>(wide[i / 4][i % 4]);
  return u;
}

/// V of the tile whose first result is (row, column).
Square transformed_tile(const Window& w, const float* map, std::int64_t row, std::int64_t column) {
  Square d;
  const Triple pad = triple(w.pad, 0);
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 4; ++j) {
      const std::int64_t y = row + i - pad[1], x = column + j - pad[2];
      const bool inside = y >= 0 && y < w.extents[0] && x >= 0 && x < w.extents[1];
      d[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = inside ? map[y * w.extents[1] + x] : 0.f;
    }
  return both_ways(d, of_inputs<float>);
}

/// kiln.convolution by F(2x2, 3x3).
Tensor winograd(const Convolution& c, const Tensor& x, const Tensor& w) {
  const auto values = x.to_vector<float>(), weights = w.to_vector<float>();
  const std::int64_t height = c.window.out()[1], width = c.window.out()[2], map = count(c.window.in());
  std::vector<float> results(static_cast<std::size_t>(c.batch * c.out * height * width));
  std::vector<Square> kernels;
  for (std::int64_t i = 0; i < c.out * c.in; ++i)
    kernels.push_back(transformed_kernel(&weights[static_cast<std::size_t>(i * 9)]));
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t row = 0; row < height; row += 2)
      for (std::int64_t column = 0; column < width; column += 2) {
        std::vector<Square> tiles;
        for (std::int64_t i = 0; i < c.in; ++i)
          tiles.push_back(transformed_tile(c.window, &values[static_cast<std::size_t>((n * c.in + i) * map)],
                                           row, column));
        for (std::int64_t o = 0; o < c.out; ++o) {
          Square sums;
          for (std::size_t p = 0; p < 16; ++p) {
            Chunks<float> chunks;
            for (std::int64_t i = 0; i < c.in; ++i)
              chunks.take(tiles[static_cast<std::size_t>(i)][p / 4][p % 4],
                          kernels[static_cast<std::size_t>(o * c.in + i)][p / 4][p % 4]);
            sums[p / 4][p % 4] = chunks.sum();
          }
          const auto tile = both_ways(sums, of_sums<float>);
          for (std::int64_t i = 0; i < std::min<std::int64_t>(2, height - row); ++i)
            for (std::int64_t j = 0; j < std::min<std::int64_t>(2, width - column); ++j)
              results[static_cast<std::size_t>(((n * c.out + o) * height + row + i) * width + column + j)] =
                  tile[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        }
      }
  return Tensor(results, c.window.shape(c.batch, c.out, c.window.out()));
}

/// The operator's results everywhere. Half precision is summed in float32 and rounded once.
Tensor convolved(const Convolution& c, const Tensor& x, const Tensor& w) {
  return everywhere([&](F& f, const Tensors& in) { return Tensors{f.Convolution(in[0], in[1], options(c))}; },
                    {x, w})[0];
}

/// kiln.reduce_window: along the last axis first, a chain over the taps in order, the first as it is; then
/// the axis before it, and so on. Outside of the array is the identity.
template <class T>
T window_of(const Window& w, const T* map, const Triple& at, Triple tap, std::size_t axis, T identity,
            T (*combine)(T, T)) {
  if (axis == 3) {
    const std::int64_t seen = w.seen(at, tap);
    return seen < 0 ? identity : map[seen];
  }
  tap[axis] = 0;
  T result = window_of(w, map, at, tap, axis + 1, identity, combine);
  for (tap[axis] = 1; tap[axis] < w.taps()[axis]; ++tap[axis])
    result = combine(result, window_of(w, map, at, tap, axis + 1, identity, combine));
  return result;
}
template <class T>
Tensor reduce_window(const Window& w, const Tensor& x, T identity, T (*combine)(T, T)) {
  const auto values = x.to_vector<T>();
  std::vector<T> results;
  const std::int64_t maps = x.shape()[0] * x.shape()[1];
  for (std::int64_t map = 0; map < maps; ++map)
    for (std::int64_t at = 0; at < count(w.out()); ++at)
      results.push_back(window_of<T>(w, &values[static_cast<std::size_t>(map * count(w.in()))],
                                     place_of(at, w.out()), {}, 0, identity, combine));
  return Tensor(results, w.shape(x.shape()[0], x.shape()[1], w.out()));
}
template <class T>
T add(T a, T b) {
  return a + b;
}
/// NaN wins; of zeros of both signs, the right one.
template <class T>
T greater(T a, T b) {
  return std::isnan(a) || a > b ? a : b;
}

template <class T>
T rounded(T v, DType dtype) {
  if (dtype != DType::f16 && dtype != DType::bf16) return v;
  return Tensor(std::vector<T>{v}, {1}).astype(dtype).template item<T>();
}

const Convolution kConvolutions[] = {
    // 1: each extent in turn, and all
    {1, 1, 1, 1, {{1}, {1}}},
    {1, 1, 1, 1, {{1, 1}, {1, 1}}},
    {2, 1, 3, 17, {{1, 9}, {1, 3}}},
    {2, 1, 3, 17, {{9, 1}, {3, 1}}},
    {1, 1, 17, 1, {{5, 5}, {3, 3}}},
    {2, 3, 1, 1, {{1, 1}, {1, 1}}},
    // one to three spatial axes, strides, distances, borders
    {2, 1, 3, 5, {{19}, {4}, {3}, {2}, {5}}},
    {1, 1, 20, 9, {{9, 11}, {3, 2}, {2, 1}, {1, 3}, {2, 0}}},
    {2, 1, 5, 33, {{8, 7}, {3, 3}, {1, 1}, {2, 2}, {2, 2}}},
    {1, 1, 4, 6, {{4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {2, 1, 1}, {1, 1, 0}}},
    // blocks of channels and chunks that end within a tap
    {1, 1, 50, 18, {{6, 6}, {3, 3}, {}, {}, {1, 1}}},
    {1, 1, 300, 3, {{5, 4}, {2, 2}}},
    {1, 1, 1040, 20, {{3, 3}, {1, 1}}},
    // groups
    {2, 2, 3, 4, {{7, 7}, {3, 3}, {2, 2}, {}, {1, 1}}},
    {1, 3, 17, 5, {{6, 9}, {2, 3}, {}, {1, 2}, {1, 0}}},
    {1, 4, 1, 2, {{6, 6}, {3, 3}, {}, {}, {1, 1}}},
    {1, 16, 1, 1, {{9, 9}, {5, 3}, {2, 1}, {1, 2}, {2, 2}}},
    {1, 2, 270, 16, {{4, 3}, {2, 1}}},
};

}  // namespace

TEST_CASE("convolutions: strides, distances, borders, groups, extents of 1") {
  for (const Convolution& c : kConvolutions) {
    CAPTURE(c.batch, c.groups, c.in, c.out, c.window.extents.str(), c.window.kernel.str());
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor x = drawn(c.input(), dtype), w = drawn(c.weights(), dtype);
      CHECK(same_bits(convolved(c, x, w), direct<float>(c, x, w).astype(dtype)));
    }
    const Tensor x = drawn(c.input(), DType::f64), w = drawn(c.weights(), DType::f64);
    CHECK(same_bits(convolved(c, x, w), direct<double>(c, x, w)));
  }
}

TEST_CASE("a tap in the border multiplies +0") {
  const Convolution c{1, 1, 2, 3, {{3, 4}, {3, 3}, {}, {}, {1, 1}}};
  Tensor x = drawn(c.input()), w = drawn(c.weights());
  w[0][0][0][0] = std::numeric_limits<float>::infinity();
  x[0][1][2][2] = -0.f;
  CHECK(same_bits(convolved(c, x, w), direct<float>(c, x, w)));
}

TEST_CASE("convolutions by Winograd's algorithm") {
  // Whole tiles and parts of some, borders of several widths, channels of one chunk and of two.
  for (const Convolution& c : {Convolution{1, 1, 16, 16, {{9, 9}, {3, 3}}},
                               Convolution{2, 1, 17, 20, {{8, 11}, {3, 3}, {}, {}, {1, 1}}},
                               Convolution{1, 1, 33, 16, {{7, 14}, {3, 3}, {}, {}, {1, 0}}},
                               Convolution{1, 1, 16, 35, {{7, 7}, {3, 3}, {}, {}, {2, 3}}},
                               Convolution{3, 1, 520, 17, {{8, 7}, {3, 3}, {}, {}, {1, 1}}}}) {
    CAPTURE(c.batch, c.in, c.out, c.window.extents.str());
    const Tensor x = drawn(c.input()), w = drawn(c.weights());
    const bool transformed = std::min(c.window.out()[1], c.window.out()[2]) >= 7;
    CHECK(same_bits(convolved(c, x, w), transformed ? winograd(c, x, w) : direct<float>(c, x, w)));
  }
}

TEST_CASE("windows: the greatest and the sum") {
  const Window windows[] = {{{1}, {1}},
                            {{1, 1}, {1, 1}},
                            {{1, 9}, {1, 3}},
                            {{9, 1}, {3, 1}, {2, 1}},
                            {{19}, {4}, {3}, {}, {2}},
                            {{9, 11}, {3, 2}, {2, 1}, {}, {1, 0}},
                            {{10, 9}, {5, 5}, {2, 3}, {}, {2, 1}},  // more taps than one kernel takes
                            {{6, 6}, {6, 6}},
                            {{4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {}, {1, 1, 0}},
                            {{5, 5, 5}, {3, 3, 3}, {2, 2, 2}, {}, {1, 1, 1}}};
  const auto pooled = [](const Window& w, const char* type, const Tensor& x) {
    return everywhere(
        [&](F& f, const Tensors& in) {
          return Tensors{f.Pooling(
              in[0],
              PoolingOptions{.kernel = w.kernel, .pool_type = type, .stride = w.stride, .pad = w.pad})};
        },
        {x})[0];
  };
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const Window& w : windows)
    for (const Shape& maps : {Shape{1, 1}, Shape{2, 3}, Shape{1, 17}}) {
      CAPTURE(w.extents.str(), w.kernel.str(), maps.str());
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        Tensor x = drawn(w.shape(maps[0], maps[1], w.in()), dtype);
        CHECK(same_bits(pooled(w, "sum", x), reduce_window<float>(w, x, 0, add).astype(dtype)));
        CHECK(same_bits(pooled(w, "max", x), reduce_window<float>(w, x, -inf, greater).astype(dtype)));
      }
      const Tensor x = drawn(w.shape(maps[0], maps[1], w.in()), DType::f64);
      CHECK(same_bits(pooled(w, "sum", x), reduce_window<double>(w, x, 0, add)));
      CHECK(same_bits(pooled(w, "max", x), reduce_window<double>(w, x, -inf, greater)));
    }
}

TEST_CASE("running sums: one chain") {
  for (const Shape& shape :
       {Shape{1, 1, 1}, Shape{1, 1100, 1}, Shape{3, 5, 1}, Shape{1, 70, 17}, Shape{2, 1, 40}})
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32}) {
      CAPTURE(shape.str(), name_of(dtype));
      const Tensor x = (drawn(shape, DType::f64) * 9).astype(dtype);
      const Tensor got = everywhere(
          [](F& f, const Tensors& in) { return Tensors{f.cumsum(in[0], CumsumOptions{.axis = 1})}; }, {x})[0];
      const auto chained = [&]<class T>(T) {
        std::vector<T> v = x.to_vector<T>();
        const auto kept = static_cast<std::size_t>(shape[2]), row = static_cast<std::size_t>(shape[1]) * kept;
        for (std::size_t i = 0; i < v.size(); ++i)
          if (i % row >= kept) v[i] = rounded(v[i - kept] + v[i], dtype);
        return Tensor(v, shape).astype(dtype);
      };
      CHECK(same_bits(got, dtype == DType::f64   ? chained(0.0)
                           : dtype == DType::i32 ? chained(std::int32_t{0})
                                                 : chained(0.f)));
    }
}
