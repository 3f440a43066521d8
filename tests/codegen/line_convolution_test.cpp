// Convolutions of few channels, whose kernel runs along the lines of an input that comes as it is: the same
// bits as the kernel that runs along channels gives.
#include "function_net.h"

#include <algorithm>

using namespace kiln;

namespace {

Tensor drawn(const Shape& shape, DType dtype = DType::f32) {
  return random::uniform(0, 2, shape).astype(dtype);
}

/// Of x, and of a copy of x that the network itself makes, which is taken with the channels last.
void both_ways(const Tensor& x, const Tensor& w, const ConvolutionOptions& options) {
  const auto convolved = [&](F& f, const Tensors& in) {
    return Tensors{f.Convolution(in[0], in[1], options), f.Convolution(f.relu(in[0]), in[1], options)};
  };
  const Tensors y = everywhere(convolved, {x, w});
  CHECK(same_bits(y[0], y[1]));
}

}  // namespace

TEST_CASE("few channels and lines of any length", "[line_convolution]") {
  const int channels = GENERATE(1, 2, 3, 6, 7, 12);
  for (const std::int64_t width : {3, 4, 9, 18, 24, 33, 50, 115}) {
    CAPTURE(channels, width);
    both_ways(drawn({2, 3, 7, width}), random::uniform(-1, 1, {channels, 3, 3, 3}),
              {.kernel = {3, 3}, .num_filter = channels, .no_bias = true});
  }
}

TEST_CASE("channels for several tiles", "[line_convolution]") {
  const int channels = GENERATE(8, 16, 17, 29, 31, 45, 64);
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16);
  CAPTURE(channels, dtype);
  const auto w = [&](const Shape& shape) { return random::uniform(-1, 1, shape).astype(dtype); };
  const ConvolutionOptions window{.kernel = {3, 3}, .dilate = {2, 2}, .pad = {2, 2}, .num_filter = channels};
  for (const std::int64_t width : {15, 16, 31, 48, 77, 1100}) {
    CAPTURE(width);
    // The following operations are in the kernel too, or after transposes.
    const Tensors y = everywhere(
        [&](F& f, const Tensors& in) {
          return Tensors{f.tanh(f.Convolution(in[0], in[1], in[2], window)) + in[3],
                         f.tanh(f.Convolution(f.relu(in[0]), in[1], in[2], window)) + in[3]};
        },
        {drawn({2, 3, 3, width}, dtype), w({channels, 3, 3, 3}), w({channels}), w({2, channels, 3, width})});
    CHECK(same_bits(y[0], y[1]));
  }
  // An image point by point is one line, and may be long.
  const ConvolutionOptions points{.kernel = {1, 1}, .num_filter = channels, .no_bias = true};
  both_ways(drawn({2, 20, 9, 11}, dtype), w({channels, 20, 1, 1}), points);
  both_ways(drawn({1, 5, 60, 61}, dtype), w({channels, 5, 1, 1}), points);
  both_ways(drawn({1, 600, 4, 8}, dtype), w({channels, 600, 1, 1}), points);
  both_ways(drawn({1, 70, 33}, dtype), w({channels, 70, 1}),
            {.kernel = {1}, .num_filter = channels, .no_bias = true});
}

TEST_CASE("windows, borders and types", "[line_convolution]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16);
  CAPTURE(dtype);
  const auto w = [&](const Shape& shape) { return random::uniform(-1, 1, shape).astype(dtype); };
  both_ways(drawn({3, 1, 20, 28}, dtype), w({4, 1, 5, 5}),
            {.kernel = {5, 5}, .num_filter = 4, .no_bias = true});
  both_ways(drawn({1, 4, 20, 28}, dtype), w({2, 4, 1, 1}),
            {.kernel = {1, 1}, .num_filter = 2, .no_bias = true});
  both_ways(drawn({2, 4, 20, 28}, dtype), w({3, 4, 3, 3}),
            {.kernel = {3, 3}, .stride = {2, 1}, .pad = {1, 1}, .num_filter = 3, .no_bias = true});
  both_ways(drawn({2, 4, 20, 28}, dtype), w({3, 4, 3, 3}),
            {.kernel = {3, 3}, .dilate = {1, 2}, .pad = {0, 2}, .num_filter = 3, .no_bias = true});
  // One axis; one line, and one image of one channel.
  both_ways(drawn({3, 2, 70}, dtype), w({3, 2, 7}), {.kernel = {7}, .num_filter = 3, .no_bias = true});
  both_ways(drawn({1, 2, 70}, dtype), w({3, 2, 7}), {.kernel = {7}, .num_filter = 3, .no_bias = true});
  both_ways(drawn({1, 1, 70}, dtype), w({1, 1, 7}), {.kernel = {7}, .num_filter = 1, .no_bias = true});
  both_ways(drawn({1, 2, 5, 70}, dtype), w({3, 2, 5, 3}),
            {.kernel = {5, 3}, .num_filter = 3, .no_bias = true});
  // Three axes; a sum of more than one chunk.
  both_ways(drawn({2, 2, 4, 5, 20}, dtype), w({3, 2, 3, 3, 3}),
            {.kernel = {3, 3, 3}, .num_filter = 3, .no_bias = true});
  both_ways(drawn({1, 40, 6, 20}, dtype), w({3, 40, 5, 5}),
            {.kernel = {5, 5}, .num_filter = 3, .no_bias = true});
  both_ways(drawn({0, 2, 6, 20}, dtype), w({3, 2, 3, 3}),
            {.kernel = {3, 3}, .num_filter = 3, .no_bias = true});
}

TEST_CASE("lines that a stride takes apart", "[line_convolution]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16);
  const int channels = GENERATE(3, 7, 16, 21), stride = GENERATE(2, 3, 5);
  CAPTURE(dtype, channels, stride);
  const auto w = [&](const Shape& shape) { return random::uniform(-1, 1, shape).astype(dtype); };
  for (const std::int64_t width : {8, 31, 64, 97, 142}) {
    CAPTURE(width);
    const auto check = [&](const Shape& x, int kernel, std::int64_t dilate, std::int64_t pad) {
      both_ways(drawn(x, dtype), w({channels, x[1], 3, kernel}),
                {.kernel = {3, kernel},
                 .stride = {2, stride},
                 .dilate = {1, dilate},
                 .pad = {1, pad},
                 .num_filter = channels,
                 .no_bias = true});
    };
    check({2, 3, 6, width}, 7, 1, 3);
    check({1, 3, 6, width}, 5, 1, 0);
    check({1, 3, 6, width}, 3, 2, 1);
    check({1, 20, 5, width}, 7, 1, 2);  // k of more than a chunk
    check({1, 3, 5, width}, 2, 1, 0);   // narrower than the longer strides
    check({0, 3, 5, width}, 7, 1, 0);
  }
  both_ways(drawn({2, 2, 90}, dtype), w({channels, 2, 7}),
            {.kernel = {7}, .stride = {stride}, .num_filter = channels, .no_bias = true});
  both_ways(drawn({2, 2, 4, 5, 60}, dtype), w({channels, 2, 3, 3, 5}),
            {.kernel = {3, 3, 5}, .stride = {1, 2, stride}, .num_filter = channels, .no_bias = true});
  both_ways(
      drawn({2, 6, 5, 70}, dtype), w({3 * channels, 2, 3, 5}),
      {.kernel = {3, 5}, .stride = {1, stride}, .num_filter = 3 * channels, .num_group = 3, .no_bias = true});
}

TEST_CASE("groups of few channels", "[line_convolution]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16);
  const int groups = GENERATE(2, 5, 31), inputs = GENERATE(1, 2, 3, 17), filters = GENERATE(1, 2, 3, 9);
  CAPTURE(dtype, groups, inputs, filters);
  const auto w = [&](const Shape& shape) { return random::uniform(-1, 1, shape).astype(dtype); };
  for (const std::int64_t width : {7, 17, 40}) {
    CAPTURE(width);
    both_ways(drawn({2, groups * inputs, 5, width}, dtype), w({groups * filters, inputs, 3, 3}),
              {.kernel = {3, 3},
               .stride = {2, 1},
               .pad = {1, 1},
               .num_filter = groups * filters,
               .num_group = groups,
               .no_bias = true});
    both_ways(drawn({1, groups * inputs, width}, dtype), w({groups * filters, inputs, 1}),
              {.kernel = {1}, .num_filter = groups * filters, .num_group = groups, .no_bias = true});
  }
  // The following operations read each channel's own elements.
  const Tensors y = everywhere(
      [&](F& f, const Tensors& in) {
        const ConvolutionOptions window{
            .kernel = {1, 3}, .num_filter = groups * filters, .num_group = groups};
        return Tensors{f.tanh(f.Convolution(in[0], in[1], in[2], window)) * in[3],
                       f.tanh(f.Convolution(f.relu(in[0]), in[1], in[2], window)) * in[3]};
      },
      {drawn({2, groups * inputs, 3, 20}, dtype), w({groups * filters, inputs, 1, 3}), w({groups * filters}),
       w({2, groups * filters, 3, 18})});
  CHECK(same_bits(y[0], y[1]));
}

TEST_CASE("what follows is in its kernel", "[line_convolution]") {
  const Tensors in{drawn({2, 1, 28, 28}), random::uniform(-1, 1, {5, 1, 5, 5}), random::uniform(-1, 1, {5}),
                   random::uniform(-1, 1, {2, 5, 24, 24}), random::uniform(-1, 1, {16, 5, 3, 3})};
  const auto convolved = [](F& f, const Tensors& in) {
    return f.relu(f.Convolution(in[0], in[1], in[2], {.kernel = {5, 5}, .num_filter = 5}));
  };
  const auto scaled = [&](F& f, const Tensors& in) { return Tensors{convolved(f, in) * 0.5 + in[3]}; };
  const auto kernels = kernels_of(scaled, in);
  CHECK(std::any_of(kernels.begin(), kernels.end(), [](const std::string& name) {
    return name.find("convolution0+net_relu0+net__mulscalar0+net__plus0") != std::string::npos;
  }));

  const auto used = [&](F& f, const Tensors& in) {
    const Tensor y = convolved(f, in);
    return Tensors{f.pad(y, {.mode = "constant", .pad_width = {0, 0, 0, 0, 1, 2, 3, 1}}),
                   f.concat({y, in[3]}, {.dim = 1}), f.transpose(y, {0, 2, 3, 1}),
                   f.Pooling(y, {.kernel = {2, 2}, .pool_type = "max", .stride = {2, 2}}),
                   f.Convolution(f.exp(y), in[4], {.kernel = {3, 3}, .num_filter = 16, .no_bias = true})};
  };
  everywhere(used, in);
  // Each alone, so that it may be what follows in the kernel.
  for (std::size_t i = 0; i < 5; ++i)
    everywhere([&](F& f, const Tensors& in) { return Tensors{used(f, in)[i]}; }, in);
}
