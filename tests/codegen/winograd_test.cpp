// Convolutions with fewer multiplications: accurate, and the same bits wherever they run.
#include "function_net.h"

using namespace kiln;

namespace {

struct Layer {
  std::int64_t batch, channels, height, width, filters;
  Shape pad;
};

Tensor convolve(const Tensor& x, const Tensor& w, const Layer& l) {
  return F::Convolution(x, w, {.kernel = {3, 3}, .pad = l.pad, .num_filter = l.filters, .no_bias = true});
}

/// The largest error against float64 (whose convolutions are sums of products), as a part of the largest
/// result.
double error_of(const Layer& l) {
  const Tensor x = random::uniform(-1, 1, {l.batch, l.channels, l.height, l.width}),
               w = random::normal(0, 0.1, {l.filters, l.channels, 3, 3});
  const Tensor exact = convolve(x.astype(DType::f64), w.astype(DType::f64), l);
  const Tensor error = convolve(x, w, l).astype(DType::f64) - exact;
  return error.abs().max().item<double>() / exact.abs().max().item<double>();
}

}  // namespace

TEST_CASE("transformed convolutions keep their bits") {
  const auto layer = GENERATE(
      Layer{1, 16, 8, 8, 16, {1, 1}}, Layer{2, 64, 28, 28, 64, {1, 1}}, Layer{1, 20, 13, 9, 33, {1, 1}},
      Layer{3, 17, 11, 12, 50, {0, 2}}, Layer{1, 530, 10, 9, 40, {0, 0}}, Layer{1, 256, 14, 14, 40, {1, 1}},
      Layer{2, 16, 9, 40, 100, {4, 5}}, Layer{1, 512, 7, 7, 64, {1, 1}}, Layer{1, 256, 20, 20, 80, {1, 1}});
  CAPTURE(layer.channels, layer.height, layer.width, layer.filters);
  const Tensor x = random::uniform(-1, 1, {layer.batch, layer.channels, layer.height, layer.width}),
               w = random::uniform(-1, 1, {layer.filters, layer.channels, 3, 3});
  const Shape shape = convolve(x, w, layer).shape();
  const Tensors in{x, w, random::uniform(-1, 1, shape),
                   random::uniform(-1, 1, {1, layer.filters, 1, shape[3]})};
  everywhere(
      [&](F& f, const Tensors& in) {
        // The sum may lie where its operand was.
        const Tensor y = convolve(in[0], in[1], layer), scaled = in[2] * 2;
        return Tensors{f.relu(y + scaled), f.transpose(y + in[3], {0, 2, 3, 1})};
      },
      in);
}

TEST_CASE("no call takes what another one left in scratch memory for its own") {
  // One tile block, then several; each thread's tasks are several of a block.
  for (const Layer& layer : {Layer{1, 256, 14, 14, 256, {1, 1}}, Layer{1, 32, 27, 27, 128, {1, 1}}}) {
    const Tensor x = random::uniform(-1, 1, {1, layer.channels, layer.height, layer.width}),
                 w = random::uniform(-1, 1, {layer.filters, layer.channels, 3, 3});
    Net net([&](F&, const Tensors& in) { return Tensors{convolve(in[0], w, layer)}; });
    net.hybridize();
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      const Tensor once = net({x})[0], twice = net({x * 2})[0];
      CHECK(same_bits(twice, once * 2));
      CHECK(same_bits(net({x})[0], once));
    }
  }
}

TEST_CASE("a picture's results do not depend on its batch") {
  const Layer layer{5, 32, 15, 14, 32, {1, 1}};
  const Tensor x = random::uniform(-1, 1, {5, 32, 15, 14}), w = random::uniform(-1, 1, {32, 32, 3, 3});
  const Tensor all = convolve(x, w, layer);
  for (std::int64_t i = 0; i < 5; ++i)
    CHECK(same_bits(all[slice(i, i + 1)], convolve(x[slice(i, i + 1)], w, layer)));
}

TEST_CASE("transformed convolutions are accurate") {
  // The error of MXNet 1.9.1 (oneDNN, direct) on the same layers.
  CHECK(error_of({1, 16, 32, 32, 16, {1, 1}}) < 4.4e-7);
  CHECK(error_of({1, 64, 56, 56, 64, {1, 1}}) < 14e-7);
  CHECK(error_of({1, 128, 28, 28, 128, {1, 1}}) < 14e-7);
  CHECK(error_of({1, 256, 14, 14, 256, {1, 1}}) < 20e-7);
  CHECK(error_of({1, 600, 9, 9, 64, {1, 1}}) < 27e-7);
  CHECK(error_of({1, 128, 7, 7, 32, {1, 1}}) < 8.4e-7);
  CHECK(error_of({1, 512, 7, 7, 512, {1, 1}}) < 24e-7);
}

TEST_CASE("weights are transformed anew when they change") {
  const Layer layer{1, 16, 10, 10, 16, {1, 1}};
  const Tensor x = random::uniform(-1, 1, {1, 16, 10, 10});
  Tensor w = random::uniform(-1, 1, {16, 16, 3, 3});
  const Tensor before = convolve(x, w, layer);
  w *= 2;
  CHECK(same_bits(convolve(x, w, layer), before * 2));
}
