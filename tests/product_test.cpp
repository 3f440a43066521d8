// Matrix products against the order of operations that kiln.dot promises, one fused multiply-add at a time.
#include "function_net.h"

#include <cmath>

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
