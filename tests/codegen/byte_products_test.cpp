// Contractions of bytes: exact sums of i32 on every instruction set, with weights that are packed once.
#include "expect.h"
#include "function_net.h"
#include "packed_once.h"

#include <kiln/version.h>

#include <random>

using namespace kiln;

namespace {

/// Bytes of all values, the extremes often.
Tensor bytes(const Shape& shape, DType dtype, std::uint32_t seed) {
  std::mt19937 random(seed);
  const int low = dtype == DType::u8 ? 0 : -128;
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::uint32_t draw = random() % 320;
    values.push_back(low + static_cast<int>(draw < 256 ? draw : draw < 288 ? 255 : 0));
  }
  return Tensor(values, shape).astype(dtype);
}

/// A network of one function of its input and a parameter.
class WithWeights : public HybridBlock {
 public:
  using Body = std::function<Tensor(F&, const Tensor& x, const Tensor& w)>;
  WithWeights(const Tensor& w, Body body) : body_(std::move(body)) {
    weights_ = params().get("weight", w.shape(), {.grad_req = GradReq::null, .dtype = w.dtype()});
    initialize();
    weights_.set_data(w);
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override { return body_(F, x, weights_.data()); }

 private:
  Body body_;
  Parameter weights_;
};

Tensor wide(const Tensor& bytes) { return bytes.astype(DType::i32); }

/// The sums of products, over the same bytes as int64, by an order of its own: row by row.
std::vector<std::int64_t> product_by_hand(const Tensor& x, const Tensor& w) {
  const std::vector<std::int64_t> a = x.astype(DType::i64).to_vector<std::int64_t>(),
                                  b = w.astype(DType::i64).to_vector<std::int64_t>();
  const std::int64_t rows = x.shape()[0], k = x.shape()[1], columns = w.shape()[0];
  std::vector<std::int64_t> sums;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(j * k + l)];
      sums.push_back(sum);
    }
  return sums;
}

/// The convolution of one image as a product: a row for each position.
std::vector<std::int64_t> convolution_by_hand(const Tensor& x, const Tensor& w, std::int64_t stride,
                                              std::int64_t pad, std::int64_t groups) {
  const std::vector<std::int64_t> a = x.astype(DType::i64).to_vector<std::int64_t>(),
                                  b = w.astype(DType::i64).to_vector<std::int64_t>();
  const std::int64_t n = x.shape()[0], c = x.shape()[1], h = x.shape()[2], o = w.shape()[0],
                     per = w.shape()[1], kernel = w.shape()[2], to = (h + 2 * pad - kernel) / stride + 1;
  std::vector<std::int64_t> sums;
  for (std::int64_t image = 0; image < n; ++image)
    for (std::int64_t out = 0; out < o; ++out)
      for (std::int64_t y = 0; y < to; ++y)
        for (std::int64_t z = 0; z < to; ++z) {
          std::int64_t sum = 0;
          for (std::int64_t in = 0; in < per; ++in)
            for (std::int64_t i = 0; i < kernel; ++i)
              for (std::int64_t j = 0; j < kernel; ++j) {
                const std::int64_t row = y * stride + i - pad, column = z * stride + j - pad,
                                   channel = out / (o / groups) * per + in;
                if (row < 0 || row >= h || column < 0 || column >= h) continue;
                sum += a[static_cast<std::size_t>(((image * c + channel) * h + row) * h + column)] *
                       b[static_cast<std::size_t>(((out * per + in) * kernel + i) * kernel + j)];
              }
          sums.push_back(sum);
        }
  return sums;
}

/// Checks a network on every instruction set, eager and compiled, on one and two threads.
void check(const WithWeights::Body& body, const Tensor& x, const Tensor& w,
           const std::vector<std::int64_t>& expected) {
  for (const std::string& cpu : target_cpus()) {
    CAPTURE(cpu, x.shape().str(), w.shape().str(), name_of(x.dtype()));
    set_target_cpu(cpu);
    WithWeights net(w, body);
    CHECK(net(x).astype(DType::i64).to_vector<std::int64_t>() == expected);
    net.hybridize();
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      CHECK(net(x).astype(DType::i64).to_vector<std::int64_t>() == expected);
    }
  }
  set_target_cpu("native");
}

Tensor dense(F& F, const Tensor& x, const Tensor& w) {
  return F.dot(wide(x), wide(w), {.transpose_b = true});
}

WithWeights::Body convolution(const Tensor& w, std::int64_t stride, std::int64_t pad, std::int64_t groups) {
  return [filters = w.shape()[0], kernel = w.shape()[2], stride, pad, groups](F& F, const Tensor& x,
                                                                              const Tensor& w) {
    return F.Convolution(wide(x), wide(w),
                         {.kernel = {kernel, kernel},
                          .stride = {stride, stride},
                          .pad = {pad, pad},
                          .num_filter = filters,
                          .num_group = groups,
                          .no_bias = true});
  };
}

}  // namespace

TEST_CASE("products of bytes are exact on every instruction set", "[byte_products]") {
  // k: none, one byte, words with a rest, several chunks of words; columns: less than a vector, several
  // panels.
  for (const auto& [rows, k, columns] : std::vector<std::array<std::int64_t, 3>>{{3, 0, 5},
                                                                                 {1, 1, 1},
                                                                                 {3, 4, 5},
                                                                                 {7, 30, 33},
                                                                                 {1, 768, 96},
                                                                                 {4, 2500, 17},
                                                                                 {33, 129, 64},
                                                                                 {130, 64, 3}})
    for (const DType dtype : {DType::u8, DType::i8}) {
      const Tensor x = bytes({rows, k}, dtype, 3), w = bytes({columns, k}, DType::i8, 4);
      check(dense, x, w, product_by_hand(x, w));
    }
}

TEST_CASE("a product of bytes takes operands in any order of their axes", "[byte_products]") {
  const Tensor x = bytes({12, 40}, DType::i8, 5), w = bytes({9, 40}, DType::i8, 6);
  const auto expected = product_by_hand(x, w);
  check([](F& F, const Tensor& x, const Tensor& w) { return F.dot(wide(x), wide(F.transpose(w))); }, x, w,
        expected);
  check([](F& F, const Tensor& x,
           const Tensor& w) { return F.dot(wide(x), wide(w), {.transpose_a = true, .transpose_b = true}); },
        F::transpose(x), w, expected);
  // A view whose rows are no words, and one that begins within a word.
  const Tensor longer = bytes({12, 43}, DType::u8, 7);
  for (const std::int64_t begin : {0, 3}) {
    const Tensor part = F::slice_axis(longer, {.axis = 1, .begin = begin, .end = begin + 40});
    check(
        [begin](F& F, const Tensor& x, const Tensor& w) {
          return F.dot(wide(F.slice_axis(x, {.axis = 1, .begin = begin, .end = begin + 40})), wide(w),
                       {.transpose_b = true});
        },
        longer, w, product_by_hand(part, w));
  }
}

TEST_CASE("convolutions of bytes are exact on every instruction set", "[byte_products]") {
  struct Case {
    std::int64_t images, channels, extent, filters, kernel, stride, pad, groups;
  };
  for (const auto& c :
       {Case{1, 3, 9, 16, 3, 1, 1, 1}, Case{2, 16, 7, 24, 3, 2, 1, 1}, Case{1, 32, 6, 33, 1, 1, 0, 1},
        Case{2, 8, 8, 12, 5, 1, 2, 2}, Case{1, 6, 5, 6, 3, 1, 1, 6}, Case{1, 6, 5, 4, 3, 1, 0, 2},
        Case{1, 72, 5, 20, 3, 1, 1, 1}, Case{1, 256, 5, 24, 3, 1, 1, 2}})
    for (const DType dtype : {DType::u8, DType::i8}) {
      const Tensor x = bytes({c.images, c.channels, c.extent, c.extent}, dtype, 8),
                   w = bytes({c.filters, c.channels / c.groups, c.kernel, c.kernel}, DType::i8, 9);
      check(convolution(w, c.stride, c.pad, c.groups), x, w,
            convolution_by_hand(x, w, c.stride, c.pad, c.groups));
    }
}

TEST_CASE("sums of bytes wrap", "[byte_products]") {
  // 255 * -128 * 70,000 is below -2^31.
  const std::int64_t k = 70000;
  const Tensor x = full({2, k}, 255, DType::u8), w = full({3, k}, -128, DType::i8);
  const std::int64_t wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(-k * 255 * 128));
  check(dense, x, w, std::vector<std::int64_t>(6, wrapped));
}

TEST_CASE("weights of bytes are padded and packed once", "[byte_products]") {
  // Whole words, and rows that are padded: the data too.
  for (const std::int64_t k : {64, 67}) {
    const Tensor x = bytes({5, k}, DType::i8, 10), w = bytes({48, k}, DType::i8, 11);
    WithWeights net(w, dense);
    check_packed_once(net, x, "_weight");
  }
}

TEST_CASE("a depthwise convolution of bytes has the kernels of float32", "[byte_products]") {
  const Tensor x = bytes({1, 24, 20, 20}, DType::u8, 12), w = bytes({24, 1, 3, 3}, DType::i8, 13);
  check(convolution(w, 1, 1, 24), x, w, convolution_by_hand(x, w, 1, 1, 24));
  const auto kernels = [&](const Tensor& input, const Tensor& weights, const WithWeights::Body& body) {
    WithWeights net(weights, body);
    net.hybridize();
    net(input);
    const Profile profile;
    net(input);
    return profile.kernels().size();
  };
  const auto floats = [](F& F, const Tensor& x, const Tensor& w) {
    return F.Convolution(
        x, w, {.kernel = {3, 3}, .pad = {1, 1}, .num_filter = 24, .num_group = 24, .no_bias = true});
  };
  // One more: the data in float32.
  CHECK(kernels(x, w, convolution(w, 1, 1, 24)) <=
        kernels(x.astype(DType::f32), w.astype(DType::f32), floats) + 1);
}
