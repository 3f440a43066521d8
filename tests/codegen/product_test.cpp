// Products against the orders of operations that kiln.dot and kiln.convolution promise, one fused
// multiply-add at a time.
#include "function_net.h"
#include "paired_definition.h"

#include <cmath>
#include <numeric>

using namespace kiln;

namespace {

struct Size {
  std::int64_t m, k, n;
};

/// Chains of 512, whose sums are added in order.
template <class T>
Tensor dot(const Tensor& x, const Tensor& y) {
  const std::int64_t m = x.shape()[0], k = x.shape()[1], n = y.shape()[1];
  constexpr std::int64_t chunk = 512;
  const auto left = x.to_vector<T>(), right = y.to_vector<T>();
  std::vector<T> result;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      T total = 0;
      for (std::int64_t from = 0; from < k; from += chunk) {
        T sum = 0;
        for (std::int64_t r = from; r < std::min(from + chunk, k); ++r)
          sum = std::fma(left[static_cast<std::size_t>(i * k + r)],
                         right[static_cast<std::size_t>(r * n + j)], sum);
        total = from == 0 ? sum : total + sum;
      }
      result.push_back(total);
    }
  return Tensor(result, {m, n});
}

/// The elements that a convolution contracts at each position of its result, as rows: 16 channels at a time,
/// and within those one tap of the kernel after the other.
Tensor windows(const Tensor& x, std::int64_t kernel, std::int64_t stride) {
  constexpr std::int64_t block = 16;
  const std::int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  const std::int64_t down = (height - kernel) / stride + 1, across = (width - kernel) / stride + 1;
  const auto values = x.to_vector<float>();
  std::vector<float> rows;
  for (std::int64_t i = 0; i < down; ++i)
    for (std::int64_t j = 0; j < across; ++j)
      for (std::int64_t first = 0; first < channels; first += block)
        for (std::int64_t tap = 0; tap < kernel * kernel; ++tap)
          for (std::int64_t c = first; c < std::min(first + block, channels); ++c)
            rows.push_back(values[static_cast<std::size_t>((c * height + i * stride + tap / kernel) * width +
                                                           j * stride + tap % kernel)]);
  return Tensor(rows, {down * across, channels * kernel * kernel});
}

/// Number `i` of a batch (batch, rows, columns).
Tensor matrix(const Tensor& batch, std::int64_t i) {
  return batch.slice_axis({.axis = 0, .begin = i, .end = i + 1}).reshape({-3, 0}).copy();
}

}  // namespace

TEST_CASE("products of two operands of a call") {
  const auto size = GENERATE(Size{1, 1, 1}, Size{13, 40, 70}, Size{29, 520, 33}, Size{30, 1100, 300},
                             Size{500, 16, 34}, Size{2100, 5, 6}, Size{5, 7, 1000}, Size{40, 512, 600});
  const bool transpose_a = GENERATE(false, true), transpose_b = GENERATE(false, true);
  CAPTURE(size.m, size.k, size.n, transpose_a, transpose_b);
  const Tensor x = random::uniform(-1, 1, {size.m, size.k}), y = random::uniform(-1, 1, {size.k, size.n}),
               bias = random::uniform(-1, 1, {size.n});
  const auto body = [&](F& f, const Tensors& in) {
    const Tensor product = f.dot(in[0], in[1], {.transpose_a = transpose_a, .transpose_b = transpose_b});
    return Tensors{f.relu(product + in[2])};
  };
  const Tensors in{transpose_a ? x.T().copy() : x, transpose_b ? y.T().copy() : y, bias};
  CHECK(same_bits(everywhere(body, in)[0], F::relu(dot<float>(x, y) + bias)));
}

// One multiply-add to +0 for each result, which turns a product of -0 into +0.
TEST_CASE("outer products") {
  const auto size = GENERATE(Size{1, 1, 16}, Size{16, 1, 1}, Size{5, 1, 7}, Size{300, 1, 130});
  const bool transpose_a = GENERATE(false, true), transpose_b = GENERATE(false, true);
  CAPTURE(size.m, size.n, transpose_a, transpose_b);
  Tensor x = random::uniform(-1, 1, {size.m, 1}), y = random::uniform(-1, 1, {1, size.n});
  x[slice(0, 1)] = -0.0;
  const auto body = [&](F& f, const Tensors& in) {
    return Tensors{f.dot(in[0], in[1], {.transpose_a = transpose_a, .transpose_b = transpose_b}) * in[2]};
  };
  const Tensor scale = random::uniform(-1, 1, {size.m, size.n});
  const Tensors in{transpose_a ? x.T().copy() : x, transpose_b ? y.T().copy() : y, scale};
  CHECK(same_bits(everywhere(body, in)[0], dot<float>(x, y) * scale));
}

// Consecutive k of the transposed operand are a multiple of pages apart: their lines map to few sets of a
// cache.
TEST_CASE("products of a transposed operand whose lines compete for the sets of L2") {
  const auto size = GENERATE(Size{1024, 600, 130}, Size{2048, 300, 140});
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::i32);
  CAPTURE(size.m, size.k, size.n, name_of(dtype));
  const bool sums_in_f32 = dtype == DType::f32 || dtype == DType::f16;
  const double range = dtype == DType::i32 ? 9 : 1;
  const Tensor x = random::uniform(-range, range, {size.m, size.k}).astype(dtype),
               y = random::uniform(-range, range, {size.k, size.n}).astype(dtype);
  const auto body = [](F& f, const Tensors& in) {
    return Tensors{f.dot(in[0], in[1], {.transpose_a = true})};
  };
  const Tensor product = everywhere(body, {x.T().copy(), y})[0];
  const Tensor expected = sums_in_f32 ? dot<float>(x.astype(DType::f32), y.astype(DType::f32))
                                      : dot<double>(x.astype(DType::f64), y.astype(DType::f64));
  CHECK(same_bits(product, expected.astype(dtype)));
}

TEST_CASE("batches of products of few rows of doubles") {
  const Tensor x = random::uniform(-1, 1, {3, 4, 20}).astype(DType::f64),
               y = random::uniform(-1, 1, {3, 20, 9}).astype(DType::f64);
  const auto body = [](F& f, const Tensors& in) { return Tensors{f.batch_dot(in[0], in[1])}; };
  const Tensor got = everywhere(body, {x, y})[0];
  for (std::int64_t i = 0; i < 3; ++i)
    CHECK(same_bits(matrix(got, i), dot<double>(matrix(x, i), matrix(y, i))));
}

TEST_CASE("products of doubles and of integers") {
  const Tensor x = random::uniform(-1, 1, {25, 530}, DType::f64),
               y = random::uniform(-1, 1, {530, 45}, DType::f64);
  const auto body = [](F& f, const Tensors& in) { return Tensors{f.dot(in[0], in[1])}; };
  CHECK(same_bits(everywhere(body, {x, y})[0], dot<double>(x, y)));
  const Tensor i = random::uniform(-9, 9, {25, 530}).astype(DType::i32),
               j = random::uniform(-9, 9, {530, 45}).astype(DType::i32);
  CHECK(same_bits(everywhere(body, {i, j})[0].astype(DType::f64),
                  dot<double>(i.astype(DType::f64), j.astype(DType::f64))));
}

// B is read where it lies, in parts of registers and of squares at its ends.
TEST_CASE("products of few rows") {
  const auto size = GENERATE(Size{1, 600, 21}, Size{1, 1030, 300}, Size{2, 15, 33}, Size{3, 513, 64},
                             Size{4, 37, 17}, Size{6, 100, 100}, Size{14, 520, 70}, Size{300, 1041, 1},
                             Size{2, 0, 3}, Size{2, 21, 16}, Size{16, 40, 2}, Size{40, 531, 3}, Size{1, 1, 1},
                             Size{1, 512, 10}, Size{3, 700, 5}, Size{15, 1025, 1}, Size{2, 37, 7});
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32);
  CAPTURE(size.m, size.k, size.n, name_of(dtype));
  const double range = dtype == DType::i32 ? 9 : 1;
  const Tensor x = random::uniform(-range, range, {size.m, size.k}).astype(dtype),
               y = random::uniform(-range, range, {size.k, size.n}).astype(dtype);
  const bool in_f64 = dtype == DType::f64 || dtype == DType::i32;
  const Tensor expected = (in_f64 ? dot<double>(x.astype(DType::f64), y.astype(DType::f64))
                                  : dot<float>(x.astype(DType::f32), y.astype(DType::f32)))
                              .astype(dtype);
  const Tensors products = everywhere(
      [](F& f, const Tensors& in) {
        return Tensors{f.dot(in[0], in[2]), f.dot(in[1], in[2], {.transpose_a = true}),
                       f.dot(in[0], in[3], {.transpose_b = true}),
                       f.dot(in[1], in[3], {.transpose_a = true, .transpose_b = true})};
      },
      {x, x.T().copy(), y, y.T().copy()});
  for (const Tensor& product : products) CHECK(same_bits(product, expected));
}

// One or two rows times a matrix whose rows are a multiple of a page apart, nearly, or come from memory.
TEST_CASE("products that read rows of a matrix side by side") {
  const auto size = GENERATE(Size{1, 3, 1024}, Size{1, 520, 2048}, Size{2, 1031, 1024}, Size{1, 21, 3071},
                             Size{2, 7, 1025}, Size{1, 40, 9216}, Size{1, 3000, 1501});
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::i32);
  CAPTURE(size.m, size.k, size.n, name_of(dtype));
  const auto drawn = [&](const Shape& shape) {
    const Tensor x = dtype == DType::i32 ? random::randint(-9, 10, shape) : random::uniform(-1, 1, shape);
    return x.astype(dtype);
  };
  const Tensor x = drawn({size.m, size.k}), y = drawn({size.k, size.n}), bias = drawn({size.n});
  const Tensors out = everywhere(
      [](F& f, const Tensors& in) {
        return Tensors{f.dot(in[0], in[1]), f.broadcast_add(f.dot(in[0], in[1]), in[2])};
      },
      {x, y, bias});
  if (dtype == DType::f32) CHECK(same_bits(out[0], dot<float>(x, y)));
  if (dtype == DType::f64) CHECK(same_bits(out[0], dot<double>(x, y)));
  if (dtype == DType::i32)
    CHECK(same_bits(out[0].astype(DType::f64), dot<double>(x.astype(DType::f64), y.astype(DType::f64))));
  if (dtype == DType::f16)
    CHECK(same_bits(out[0], dot<float>(x.astype(DType::f32), y.astype(DType::f32)).astype(DType::f16)));
  CHECK(same_bits(out[1], F::broadcast_add(out[0], bias)));
  // A batch, whose products divide the work as well.
  const Tensor left = drawn({3, size.m, 9}), right = drawn({3, 9, size.n});
  const Tensor batch = everywhere([](F& f, const Tensors& in) { return Tensors{f.batch_dot(in[0], in[1])}; },
                                  {left, right})[0];
  for (std::int64_t i = 0; i < 3; ++i)
    CHECK(same_bits(matrix(batch, i), nd::dot(matrix(left, i), matrix(right, i))));
}

// Chunks of k side by side, in groups that are whole or not, and the last one shorter or not.
TEST_CASE("products of few results over many chunks") {
  const auto size =
      GENERATE(Size{1, 512 * 32, 1}, Size{1, 16385, 1}, Size{1, 9000, 2}, Size{2, 8192, 1}, Size{3, 20011, 5},
               Size{5, 12345, 3}, Size{15, 17000, 1}, Size{1, 33000, 15}, Size{2, 33300, 7},
               Size{7, 16900, 2}, Size{1, 16384 + 511, 4}, Size{9, 30003, 1});
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::i32);
  CAPTURE(size.m, size.k, size.n, name_of(dtype));
  const double range = dtype == DType::i32 ? 9 : 1;
  const Tensor x = random::uniform(-range, range, {size.m, size.k}).astype(dtype),
               y = random::uniform(-range, range, {size.k, size.n}).astype(dtype),
               bias = random::uniform(-range, range, {size.n}).astype(dtype);
  const bool in_f64 = dtype == DType::f64 || dtype == DType::i32;
  const Tensor expected = (in_f64 ? dot<double>(x.astype(DType::f64), y.astype(DType::f64))
                                  : dot<float>(x.astype(DType::f32), y.astype(DType::f32)))
                              .astype(dtype);
  const Tensors products = everywhere(
      [](F& f, const Tensors& in) {
        return Tensors{f.dot(in[0], in[2]), f.dot(in[1], in[2], {.transpose_a = true}),
                       f.dot(in[0], in[3], {.transpose_b = true}),
                       f.dot(in[1], in[3], {.transpose_a = true, .transpose_b = true}),
                       f.relu(f.broadcast_add(f.dot(in[0], in[2]), in[4]))};
      },
      {x, x.T().copy(), y, y.T().copy(), bias});
  for (std::size_t i = 0; i < 4; ++i) CHECK(same_bits(products[i], expected));
  CHECK(same_bits(products[4], F::relu(F::broadcast_add(expected, bias))));
  if (dtype != DType::f32 || size.k > 20000) return;
  const Tensor left = random::uniform(-1, 1, {3, size.m, size.k}),
               right = random::uniform(-1, 1, {3, size.k, size.n});
  const Tensor batch = everywhere([](F& f, const Tensors& in) { return Tensors{f.batch_dot(in[0], in[1])}; },
                                  {left, right})[0];
  for (std::int64_t i = 0; i < 3; ++i)
    CHECK(same_bits(matrix(batch, i), dot<float>(matrix(left, i), matrix(right, i))));
}

// Weights of few units are read where they lie.
TEST_CASE("layers of few units over many inputs") {
  const std::int64_t units = GENERATE(1, 3, 10), inputs = GENERATE(9216, 10007);
  CAPTURE(units, inputs);
  nn::Dense layer(units, {.activation = "tanh", .in_units = inputs});
  layer.initialize(init::Normal(0.05));
  const Tensor x = random::normal(0, 1, {3, inputs});
  const Tensor expected =
      F::tanh(F::broadcast_add(dot<float>(x, layer.weight.data().T().copy()), layer.bias.data()));
  for (const bool compiled : {false, true}) {
    layer.hybridize(compiled);
    CHECK(same_bits(layer(x), expected));
    for (std::int64_t i = 0; i < 3; ++i)
      CHECK(same_bits(layer(x.slice_axis({.axis = 0, .begin = i, .end = i + 1})),
                      expected.slice_axis({.axis = 0, .begin = i, .end = i + 1})));
  }
  layer.weight.set_data(layer.weight.data() * 2);
  CHECK(same_bits(
      layer(x), F::tanh(F::broadcast_add(dot<float>(x, layer.weight.data().T().copy()), layer.bias.data()))));
}

TEST_CASE("batches of products of few rows") {
  // Both ways that B can lie.
  const std::int64_t m = GENERATE(1, 5, 8, 15), n = GENERATE(7, 33, 112), k = GENERATE(3, 530);
  const bool transposed = GENERATE(false, true);
  CAPTURE(m, n, k, transposed);
  const Tensor x = random::uniform(-1, 1, {2, 3, m, k}),
               y = random::uniform(-1, 1, transposed ? Shape{2, 3, n, k} : Shape{2, 3, k, n}),
               b = random::uniform(-1, 1, {n});
  const auto joined = [](const Tensor& t) { return t.reshape({-3, 0, 0}); };
  const auto body = [&](F& f, const Tensors& in) {
    return Tensors{f.relu(f.batch_dot(joined(in[0]), joined(in[1]), {.transpose_b = transposed}) + in[2])};
  };
  const Tensor got = everywhere(body, {x, y, b})[0];
  for (std::int64_t i = 0; i < 6; ++i) {
    const Tensor left = matrix(joined(x), i), right = matrix(joined(y), i);
    const Tensor product = F::dot(left, transposed ? right.T().copy() : right);
    CHECK(same_bits(matrix(got, i), F::relu(product + b)));
  }
}

// Tiles of some rows read B unpacked if it stays in L2. Otherwise, and where the elements of a column are
// contiguous, each product of a batch packs its B. Without rows, columns or a batch nothing is computed.
TEST_CASE("batches of products of more rows") {
  struct Batch {
    std::int64_t count, m, k, n;
  };
  const auto size = GENERATE(
      Batch{2, 15, 3, 7}, Batch{3, 17, 40, 69}, Batch{2, 18, 530, 80}, Batch{1, 33, 20, 16},
      Batch{5, 28, 64, 64}, Batch{2, 200, 37, 19}, Batch{2, 16, 530, 140}, Batch{2, 410, 30, 33},
      Batch{3, 30, 9, 1}, Batch{2, 29, 530, 8}, Batch{0, 20, 4, 5}, Batch{2, 20, 0, 5}, Batch{2, 20, 4, 0});
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32);
  CAPTURE(size.count, size.m, size.k, size.n, name_of(dtype));
  const double range = dtype == DType::i32 ? 9 : 1;
  const Tensor x = random::uniform(-range, range, {size.count, size.m, size.k}).astype(dtype),
               y = random::uniform(-range, range, {size.count, size.k, size.n}).astype(dtype);
  const auto turned = [](const Tensor& t) { return nd::transpose(t, {0, 2, 1}).copy(); };
  const Tensors products = everywhere(
      [](F& f, const Tensors& in) {
        return Tensors{f.batch_dot(in[0], in[2]), f.batch_dot(in[1], in[2], {.transpose_a = true}),
                       f.relu(f.batch_dot(in[0], in[3], {.transpose_b = true}) + 1),
                       f.batch_dot(in[1], in[3], {.transpose_a = true, .transpose_b = true})};
      },
      {x, turned(x), y, turned(y)});
  const bool in_f64 = dtype == DType::f64 || dtype == DType::i32;
  const DType wide = in_f64 ? DType::f64 : DType::f32;
  for (std::int64_t i = 0; i < size.count; ++i) {
    const Tensor left = matrix(x, i).astype(wide), right = matrix(y, i).astype(wide);
    const bool in_pairs = dtype == DType::bf16 && size.k >= 16;
    const Tensor expected = (in_f64     ? dot<double>(left, right)
                             : in_pairs ? paired_definition::dot(left, right)
                                        : dot<float>(left, right))
                                .astype(dtype);
    for (const std::size_t p : {0U, 1U, 3U}) CHECK(same_bits(matrix(products[p], i), expected));
    CHECK(same_bits(matrix(products[2], i), F::relu(expected + 1)));
  }
}

TEST_CASE("a matrix times a vector, whole numbers") {
  const auto whole = [](const Shape& shape, DType dtype) {
    return F::random::randint(-4, 5, shape).astype(dtype);
  };
  random::seed(17);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32})
    for (const Shape& size : {Shape{2, 9}, Shape{16, 16}, Shape{17, 600}, Shape{300, 5}, Shape{1030, 520}}) {
      CAPTURE(name_of(dtype), size.str());
      const Tensor a = whole(size, dtype), turned = nd::transpose(a).copy(), x = whole({size[1]}, dtype);
      const Tensor batch = whole({3, size[0], size[1]}, dtype), columns = whole({3, size[1], 1}, dtype);
      const Tensors y = everywhere(
          [](F& f, const Tensors& in) {
            return Tensors{f.dot(in[0], in[2]), f.dot(in[1], in[2], {.transpose_a = true}),
                           f.dot(in[0] * 2, in[2].reshape({-1, 1})) + 1, f.batch_dot(in[3], in[4])};
          },
          {a, turned, x, batch, columns});
      const auto elements = a.to_vector<double>(), factors = x.to_vector<double>();
      std::vector<double> expected;
      for (std::size_t i = 0; i < elements.size(); i += factors.size())
        expected.push_back(std::inner_product(factors.begin(), factors.end(), &elements[i], 0.0));
      CHECK(y[0].to_vector<double>() == expected);
      CHECK(y[1].to_vector<double>() == expected);
      for (double& v : expected) v = 2 * v + 1;
      if (dtype != DType::f16) CHECK(y[2].to_vector<double>() == expected);
      for (int i = 0; i < 3; ++i)
        CHECK(same_bits(y[3][i].reshape({-1}), nd::dot(batch[i], columns[i].reshape({-1}))));
    }
}

TEST_CASE("an operand of several products") {
  const Tensor x = random::uniform(-1, 1, {20, 64}), y = random::uniform(-1, 1, {20, 64}),
               w = random::uniform(-1, 1, {64, 50});
  const Tensors out = everywhere(
      [](F& f, const Tensors& in) {
        return Tensors{f.dot(in[0], in[2]), f.dot(f.tanh(in[1]), in[2]),
                       f.dot(in[2], in[2], {.transpose_b = true})};
      },
      {x, y, w});
  CHECK(same_bits(out[0], dot<float>(x, w)));
  CHECK(same_bits(out[1], dot<float>(F::tanh(y), w)));
  CHECK(same_bits(out[2], dot<float>(w, w.T().copy())));
}

TEST_CASE("products with a parameter") {
  // Whole tiles of rows and smaller last ones, in one chunk and several, in rows a page apart. Few rows:
  // tiles several panels wide, the last of them ragged or with fewer panels; five panels in a tile.
  const auto size =
      GENERATE(Size{1, 700, 40}, Size{15, 64, 96}, Size{29, 520, 33}, Size{49, 2048, 70}, Size{50, 1024, 40},
               Size{300, 256, 20}, Size{1, 520, 250}, Size{1, 64, 144}, Size{2, 600, 90}, Size{3, 40, 125},
               Size{1, 70, 1170}, Size{3, 40, 600}, Size{1, 530, 600}, Size{2, 9, 2333}, Size{61, 300, 80},
               Size{33, 600, 75}, Size{40, 33, 40}, Size{4, 20, 36});
  CAPTURE(size.m, size.k, size.n);
  nn::Dense dense(size.n, {.use_bias = false, .in_units = size.k});
  dense.initialize(init::Uniform(1));
  const Tensor x = random::uniform(-1, 1, {size.m, size.k});
  const Tensor expected = dot<float>(x, dense.weight.data().T().copy());
  CHECK(same_bits(dense(x), expected));
  dense.hybridize();
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    CHECK(same_bits(dense(x), expected));
  }
}

TEST_CASE("convolutions of 1x1 whose arrays stay with the channels first") {
  struct Case {
    std::int64_t images, channels, height, width, filters;
  };
  const auto c = GENERATE(Case{1, 20, 10, 10, 40}, Case{3, 33, 11, 17, 50}, Case{2, 600, 40, 39, 20},
                          Case{1, 1, 30, 31, 1}, Case{5, 16, 1, 130, 17}, Case{0, 7, 10, 10, 3});
  CAPTURE(c.images, c.channels, c.height, c.width, c.filters);
  const Tensor x = random::uniform(-1, 1, {c.images, c.channels, c.height, c.width}),
               w = random::uniform(-1, 1, {c.filters, c.channels, 1, 1}),
               bias = random::uniform(-1, 1, {c.filters});
  const ConvolutionOptions options{.kernel = {1, 1}, .num_filter = c.filters};
  const auto biased = [&](F& f, const Tensors& in) {
    return Tensors{f.relu(f.Convolution(in[0], in[1], in[2], options))};
  };
  const Tensor result = everywhere(biased, {x, w, bias})[0];
  for (std::int64_t n = 0; n < c.images; ++n) {
    const Tensor maps = matrix(x.reshape({c.images, c.channels, -1}), n);
    const Tensor sums = dot<float>(w.reshape({c.filters, c.channels}), maps);
    CHECK(same_bits(matrix(result.reshape({c.images, c.filters, -1}), n),
                    F::relu(F::broadcast_add(sums, bias.reshape({c.filters, 1})))));
  }
  // A view, and a result that is used twice.
  everywhere(
      [&](F& f, const Tensors& in) {
        const Tensor y = f.Convolution(f.transpose(in[0], {.axes = {0, 1, 3, 2}}), in[1], in[2], options);
        return Tensors{y, f.sum(y), f.tanh(y) + y};
      },
      {x, w, bias});
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16})
    everywhere(biased, {x.astype(dtype), w.astype(dtype), bias.astype(dtype)});
}

TEST_CASE("convolutions") {
  struct Case {
    std::int64_t channels, height, width, columns, kernel, stride;
  };
  // Short rows share tiles, and one may be left; 2 KiB and 4 KiB between pixels.
  const auto c = GENERATE(Case{512, 15, 15, 20, 3, 2}, Case{512, 9, 13, 33, 3, 2}, Case{20, 7, 40, 70, 3, 1},
                          Case{1024, 5, 5, 18, 3, 1}, Case{33, 11, 31, 16, 5, 1}, Case{40, 9, 9, 40, 1, 2},
                          Case{40, 9, 14, 80, 3, 2}, Case{60, 8, 8, 73, 3, 1});
  CAPTURE(c.channels, c.height, c.width, c.columns, c.kernel, c.stride);
  const Tensor x = random::uniform(-1, 1, {1, c.channels, c.height, c.width}),
               w = random::uniform(-1, 1, {c.columns, c.channels, c.kernel, c.kernel});
  const auto body = [&](F& f, const Tensors& in) {
    return Tensors{f.Convolution(in[0], in[1],
                                 ConvolutionOptions{.kernel = {c.kernel, c.kernel},
                                                    .stride = {c.stride, c.stride},
                                                    .num_filter = c.columns,
                                                    .no_bias = true})};
  };
  // A kernel's own order is the order of the window it lies on.
  std::vector<Tensor> kernels;
  for (std::int64_t n = 0; n < c.columns; ++n)
    kernels.push_back(windows(w.slice_axis({.axis = 0, .begin = n, .end = n + 1}), c.kernel, 1));
  const Tensor left = windows(x, c.kernel, c.stride), right = F::concat(kernels, {.dim = 0}).T().copy();
  const Tensor result = everywhere(body, {x, w})[0];
  CHECK(same_bits(result.reshape({c.columns, -1}), dot<float>(left, right).T().copy()));
}

TEST_CASE("arrays of all widths share the kernel of a product") {
  const auto kernels = [] { return stats().kernels_compiled + stats().kernels_loaded; };
  const auto run = [](std::int64_t m, std::int64_t k) {
    nn::Dense dense(40, {.use_bias = false, .in_units = k});
    dense.initialize(init::Uniform(1));
    dense.hybridize();
    const Tensor x = random::uniform(-1, 1, {m, k});
    const Tensor expected = dot<float>(x, dense.weight.data().T().copy());
    return same_bits(dense(x), expected);
  };
  // One chunk, then several; a result of one row, of some, and of two heights of tiles.
  const std::int64_t k = GENERATE(300, 700), m = GENERATE(1, 5, 28, 33);
  CAPTURE(m, k);
  CHECK(run(m, k));
  const std::uint64_t before = kernels();
  CHECK(run(m, k + 12));
  CHECK(run(m, k + 33));
  CHECK(kernels() == before);
}

TEST_CASE("functions of a product") {
  const auto body = [](F& f, const Tensors& in) {
    const Tensor y = f.dot(in[0], in[1]);
    return Tensors{f.tanh(y + in[2]) * f.sigmoid(y)};
  };
  const std::int64_t m = GENERATE(1, 4, 15, 29), k = GENERATE(3, 512, 513, 1100), n = GENERATE(8, 33, 70);
  CAPTURE(m, k, n);
  const Tensor x = random::uniform(-1, 1, {m, k}), w = random::uniform(-1, 1, {k, n}),
               b = random::uniform(-1, 1, {m, n});
  const Tensor y = F::dot(x, w);
  CHECK(same_bits(everywhere(body, {x, w, b})[0], F::tanh(y + b) * F::sigmoid(y)));
}

TEST_CASE("functions of a convolution") {
  struct Case {
    std::int64_t channels, height, width, columns, kernel, padding;
  };
  // Rows of tiles that divide one axis, two, all rows of a short axis; in one chunk and several.
  const auto c = GENERATE(Case{20, 9, 40, 33, 3, 0}, Case{300, 7, 7, 40, 3, 0}, Case{64, 5, 3, 20, 1, 1},
                          Case{600, 6, 11, 18, 1, 0}, Case{1024, 4, 4, 16, 3, 1});
  CAPTURE(c.channels, c.height, c.width, c.columns, c.kernel, c.padding);
  const Tensor x = random::uniform(-1, 1, {2, c.channels, c.height, c.width}),
               w = random::uniform(-1, 1, {c.columns, c.channels, c.kernel, c.kernel});
  const auto convolution = [&](F& f, const Tensors& in) {
    return f.Convolution(in[0], in[1],
                         ConvolutionOptions{.kernel = {c.kernel, c.kernel},
                                            .stride = {2, 2},
                                            .pad = {c.padding, c.padding},
                                            .num_filter = c.columns,
                                            .no_bias = true});
  };
  const Tensor y =
      everywhere([&](F& f, const Tensors& in) { return Tensors{convolution(f, in)}; }, {x, w})[0];
  const Tensor z =
      everywhere([&](F& f, const Tensors& in) { return Tensors{f.tanh(convolution(f, in))}; }, {x, w})[0];
  CHECK(same_bits(z, F::tanh(y)));
}

TEST_CASE("what follows a product may overwrite what it reads") {
  const std::int64_t m = GENERATE(1, 29, 100);
  const Tensor x = random::uniform(-1, 1, {m, 600}), w = random::uniform(-1, 1, {600, 70}),
               r = random::uniform(-1, 1, {m, 70});
  const auto body = [](F& f, const Tensors& in) {
    const Tensor other = f.tanh(in[2]);
    return Tensors{f.relu(f.dot(in[0], in[1]) + other * other)};
  };
  const Tensor other = F::tanh(r);
  CHECK(same_bits(everywhere(body, {x, w, r})[0], F::relu(dot<float>(x, w) + other * other)));
}
