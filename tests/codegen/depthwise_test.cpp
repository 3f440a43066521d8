// Convolutions with a separate window for each channel: the sums that kiln.convolution in ir/KilnOps.td
// defines, to the bit, for every way to cut them.
#include "function_net.h"

#include <array>
#include <cmath>
#include <limits>

using namespace kiln;

namespace {

struct Layer {
  std::int64_t batch, channels;
  Shape extents, kernel;
  Shape stride = {}, dilate = {}, pad = {};
};

ConvolutionOptions options(const Layer& l) {
  return {.kernel = l.kernel,
          .stride = l.stride,
          .dilate = l.dilate,
          .pad = l.pad,
          .num_filter = l.channels,
          .num_group = l.channels,
          .no_bias = true};
}

using Triple = std::array<std::int64_t, 3>;
Triple triple(const Shape& of, std::int64_t absent) {
  Triple t{absent, absent, absent};
  std::copy_backward(of.begin(), of.end(), t.end());
  return t;
}

/// One chain of multiply-adds over every 512 taps, the chains added in order.
template <class T>
std::vector<T> sums(const Layer& l, const std::vector<T>& x, const std::vector<T>& w) {
  const Triple in = triple(l.extents, 1), k = triple(l.kernel, 1), step = triple(l.stride, 1),
               apart = triple(l.dilate, 1), pad = triple(l.pad, 0);
  Triple out;
  for (std::size_t i = 0; i < 3; ++i) out[i] = (in[i] + 2 * pad[i] - apart[i] * (k[i] - 1) - 1) / step[i] + 1;
  const std::int64_t taps = k[0] * k[1] * k[2];
  std::vector<T> results;
  for (std::int64_t map = 0; map < l.batch * l.channels; ++map)
    for (std::int64_t o = 0; o < out[0] * out[1] * out[2]; ++o) {
      const Triple at{o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]};
      T total = 0, chain = 0;
      for (std::int64_t t = 0; t < taps; ++t) {
        const Triple tap{t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]};
        std::int64_t place = map;
        bool inside = true;
        for (std::size_t i = 0; i < 3; ++i) {
          const std::int64_t p = at[i] * step[i] + tap[i] * apart[i] - pad[i];
          inside = inside && 0 <= p && p < in[i];
          place = place * in[i] + p;
        }
        const T factor = inside ? x[static_cast<std::size_t>(place)] : 0;
        chain = std::fma(factor, w[static_cast<std::size_t>(map % l.channels * taps + t)], chain);
        if (t % 512 == 511 || t + 1 == taps) {
          total = t < 512 ? chain : total + chain;
          chain = 0;
        }
      }
      results.push_back(total);
    }
  return results;
}

Layer any_layer() {
  return GENERATE(
      // Channels that fill registers, or do not.
      Layer{1, 16, {9, 9}, {3, 3}, {}, {}, {1, 1}}, Layer{1, 2, {5, 6}, {3, 3}},
      Layer{2, 33, {8, 7}, {3, 3}, {}, {}, {1, 1}}, Layer{1, 100, {4, 30}, {3, 3}, {}, {}, {0, 1}},
      // Strides and distances that share columns, or none.
      Layer{1, 24, {15, 29}, {3, 3}, {2, 2}, {}, {1, 1}}, Layer{1, 9, {11, 26}, {3, 3}, {1, 3}, {}, {2, 2}},
      Layer{1, 17, {14, 25}, {3, 5}, {}, {2, 2}, {2, 4}}, Layer{1, 8, {9, 31}, {2, 4}, {1, 2}, {1, 3}},
      // Planes that a tile reads as they lie: lines of a register, of two, of lanes far apart.
      Layer{2, 20, {14, 14}, {3, 3}, {2, 2}, {}, {1, 1}}, Layer{1, 6, {13, 32}, {3, 3}, {2, 2}, {}, {1, 1}},
      Layer{1, 5, {9, 22}, {5, 5}, {2, 2}, {}, {2, 2}}, Layer{1, 7, {16, 16}, {5, 5}, {}, {}, {2, 2}},
      Layer{1, 3, {12, 30}, {3, 3}, {1, 3}, {2, 2}, {2, 2}}, Layer{1, 4, {3, 12}, {3, 3}, {}, {}, {4, 3}},
      // Few results in a row, and many.
      Layer{3, 40, {7, 7}, {7, 7}}, Layer{1, 72, {5, 4}, {3, 3}}, Layer{1, 12, {1, 113}, {1, 3}},
      // Windows of one tap, of long rows, of more than one chain.
      Layer{1, 20, {6, 23}, {1, 1}}, Layer{1, 10, {4, 40}, {2, 11}}, Layer{1, 11, {30, 27}, {26, 24}},
      Layer{1, 3, {3, 620}, {1, 600}},
      // One and three axes.
      Layer{2, 19, {37}, {5}, {}, {}, {2}}, Layer{1, 13, {4, 6, 9}, {2, 3, 3}, {1, 2, 1}, {}, {1, 1, 1}});
}

}  // namespace

TEST_CASE("depthwise sums are those of their definition", "[depthwise]") {
  const Layer layer = any_layer();
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16);
  CAPTURE(layer.channels, layer.extents, layer.kernel, name_of(dtype));
  random::seed(7);
  Shape of_x{layer.batch, layer.channels}, of_w{layer.channels, 1};
  for (const std::int64_t n : layer.extents) of_x.push_back(n);
  for (const std::int64_t n : layer.kernel) of_w.push_back(n);
  const Tensor x = random::uniform(0, 2, of_x).astype(dtype), w = random::uniform(-1, 1, of_w).astype(dtype);
  // Alone, along the lines of its input as it lies; what follows is part of the kernel.
  const Tensor y = everywhere(
      [&](F& f, const Tensors& in) {
        const Tensor y = f.Convolution(in[0], in[1], options(layer));
        return Tensors{y, f.clip(y + 0.25, {.a_min = 0, .a_max = 0.5})};
      },
      {x, w})[0];
  // Of what the network computes, with the channels last.
  const Tensor last = everywhere(
      [&](F& f, const Tensors& in) {
        const Tensor y = f.Convolution(f.relu(in[0]), in[1], options(layer));
        return Tensors{y, f.clip(y + 0.25, {.a_min = 0, .a_max = 0.5})};
      },
      {x, w})[0];
  CHECK(same_bits(y, last));
  if (dtype == DType::f64)
    CHECK(y.to_vector<double>() == sums(layer, x.to_vector<double>(), w.to_vector<double>()));
  else
    CHECK(same_bits(
        y, nd::array(sums(layer, x.to_vector<float>(), w.to_vector<float>()), y.shape()).astype(dtype)));
}

TEST_CASE("a tap in the padding multiplies zero, of an infinite weight too", "[depthwise]") {
  const std::int64_t width = GENERATE(6, 14, 40);
  const Layer layer{1, 3, {8, width}, {3, 3}, {2, 2}, {}, {1, 1}};
  std::vector<float> weights(27, 1);
  weights[0] = std::numeric_limits<float>::infinity();  // of the upper left corner of the first channel
  const Tensor x = random::uniform(1, 2, {1, 3, 8, width}), w = nd::array(weights, {3, 1, 3, 3});
  const Tensor y = everywhere(
      [&](F& f, const Tensors& in) { return Tensors{f.Convolution(in[0], in[1], options(layer))}; },
      {x, w})[0];
  const std::vector<float> values = y.to_vector<float>();
  const std::int64_t points = width / 2;
  for (std::int64_t i = 0; i < 3 * 4 * points; ++i) {
    const bool on_border = i < points || i % points == 0;
    CHECK(std::isnan(values[static_cast<std::size_t>(i)]) == (i < 4 * points && on_border));
  }
}

TEST_CASE("depthwise kernels leave what lies beside their channels", "[depthwise]") {
  const std::int64_t channels = GENERATE(3, 8, 21);
  const Layer layer{2, channels, {6, 13}, {3, 3}, {}, {}, {1, 1}};
  const Tensor x = random::uniform(-1, 1, {2, channels, 6, 13}),
               w = random::uniform(-1, 1, {channels, 1, 3, 3}),
               beside = random::uniform(-1, 1, {2, 5, 6, 13});
  const Tensor alone = nd::relu(F::Convolution(x, w, options(layer)));
  const Tensor y = everywhere(
      [&](F& f, const Tensors& in) {
        return Tensors{
            f.concat({in[2], f.relu(f.Convolution(in[0], in[1], options(layer))), in[2]}, {.dim = 1})};
      },
      {x, w, beside})[0];
  CHECK(same_bits(nd::slice_axis(y, {.axis = 1, .begin = 0, .end = 5}), beside));
  CHECK(same_bits(nd::slice_axis(y, {.axis = 1, .begin = 5, .end = 5 + channels}), alone));
  CHECK(same_bits(nd::slice_axis(y, {.axis = 1, .begin = 5 + channels, .end = 10 + channels}), beside));
}

TEST_CASE("depthwise convolutions alone take only paddings by zeros of the image", "[depthwise]") {
  const Layer layer{2, 5, {6, 23}, {3, 3}, {}, {}, {}};
  const auto [width, value] =
      GENERATE(table<std::vector<std::int64_t>, double>({{{0, 0, 0, 0, 1, 2, 3, 0}, 0.0},
                                                         {{0, 0, 0, 0, 0, 1, 40, 2}, 0.0},
                                                         {{0, 0, 0, 0, 1, 1, 1, 1}, 0.5},
                                                         {{0, 0, 0, 0, 1, 1, 1, 1}, -0.0},
                                                         {{1, 0, 0, 0, 1, 1, 1, 1}, 0.0},
                                                         {{0, 0, 2, 1, 1, 1, 1, 1}, 0.0}}));
  CAPTURE(width, value);
  const Shape padded{2 + width[0] + width[1], 5 + width[2] + width[3]};
  const Tensor x = random::uniform(0, 2, {2, 5, 6, 23}), w = random::uniform(-1, 1, {padded[1], 1, 3, 3}),
               bias = random::uniform(-1, 1, {padded[1]});
  Layer of = layer;
  of.channels = padded[1];
  const auto convolved = [&, width = width, value = value](F& f, const Tensor& x, const Tensors& in) {
    ConvolutionOptions with_bias = options(of);
    with_bias.no_bias = false;
    const Tensor y = f.pad(x, {.mode = "constant", .pad_width = width, .constant_value = value});
    return f.relu(f.Convolution(y, in[1], in[2], with_bias));
  };
  const Tensor alone =
      everywhere([&](F& f, const Tensors& in) { return Tensors{convolved(f, in[0], in)}; }, {x, w, bias})[0];
  CHECK(same_bits(
      alone, everywhere([&](F& f, const Tensors& in) { return Tensors{convolved(f, f.relu(in[0]), in)}; },
                        {x, w, bias})[0]));
}

TEST_CASE("depthwise convolutions alone, of infinities and of nothing", "[depthwise]") {
  const auto infinity = std::numeric_limits<float>::infinity();
  Tensor w = random::uniform(-1, 1, {4, 1, 3, 3});
  const ConvolutionOptions padded = options({1, 4, {}, {3, 3}, {}, {}, {1, 1}});
  // A tap in the padding multiplies zero: an infinite weight there gives NaN.
  const auto both = [&](const Tensor& x, const Tensor& w) {
    const Tensors y = everywhere(
        [&](F& f, const Tensors& in) { return Tensors{f.Convolution(in[0], in[1], padded)}; }, {x, w});
    const Tensors last = everywhere(
        [&](F& f, const Tensors& in) { return Tensors{f.Convolution(f.relu(in[0]), in[1], padded)}; },
        {x, w});
    CHECK(same_bits(y[0], last[0]));
  };
  both(random::uniform(0, 2, {1, 4, 5, 21}), w * infinity);
  both(random::uniform(0, 2, {1, 4, 5, 21}) * infinity, w);
  both(random::uniform(0, 2, {0, 4, 5, 21}), w);
  both(random::uniform(0, 2, {3, 4, 1, 1}), w);
  both(random::uniform(0, 2, {1, 4, 300, 9}), w);   // several blocks of lines
  both(random::uniform(0, 2, {1, 4, 3, 3000}), w);  // lines that L1 does not hold
}
