// Layers, at the widths of the model zoo's networks, and networks: a row has the same bits alone and in
// batches of 23 sizes, eagerly and compiled. The same holds for the gradients of its inputs.
#include "rows.h"

#include <catch2/catch.hpp>

using namespace kiln;
using namespace batch_invariance;

namespace {

/// Each size runs eagerly for each layer, and compiled for every `turns`-th layer, by turns.
constexpr std::size_t turns = 4;

/// The input has `shape` for one row, whose extent along `axis` is 1.
template <class Layer>
void check_rows(Layer net, const Shape& shape, int axis = 0, std::int64_t rows = max_rows,
                bool gradients = true) {
  Shape all = shape;
  all[axis] = rows;
  random::seed(11);
  net.initialize(init::Normal(0.2));
  const Tensor x = random::normal(0, 1, all);
  Call call;
  call.function = [net](const Tensors& in) mutable { return Tensors{net(in[0])}; };
  call.batched = {true};
  call.axis = axis;
  call.gradients = gradients;
  INFO(net.class_name() << " on rows " << shape.str());
  const Alone alone = rows_alone(call, {x}, rows);
  static std::size_t turn = 0;
  ++turn;
  for (const bool compiled : {false, true}) {
    net.hybridize(compiled);
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      if (sizes[i] > rows || (compiled && i % turns != turn % turns)) continue;
      const auto found = difference(call, {x}, sizes[i], alone);
      INFO((compiled ? "compiled" : "eager") << ": " << found.value_or(""));
      CHECK(!found);
      if (found) return;
    }
  }
}

/// A layer and its activation, among others that it may be fused with.
template <class Layer>
nn::HybridSequential between(Layer layer) {
  nn::HybridSequential net;
  net.add(nn::Activation("tanh"), std::move(layer), nn::Activation("sigmoid"));
  return net;
}

}  // namespace

TEST_CASE("rows of dense layers", "[dense]") {
  for (const std::int64_t in : {1, 7, 84, 513, 1030})
    for (const std::int64_t units : {1, 3, 10, 15, 16, 40}) {
      INFO(in << " to " << units);
      check_rows(nn::Dense(units, {.activation = units % 2 == 0 ? "relu" : "", .in_units = in}), {1, in});
    }
}

TEST_CASE("rows of dense layers of many inputs", "[dense]") {
  for (const std::int64_t units : {1, 2, 10, 15}) {
    INFO(units);
    check_rows(nn::Dense(units, {.in_units = 9216}), {1, 9216}, 0, 17);
    check_rows(nn::Dense(units, {.in_units = 25088}), {1, 25088}, 0, 17);
  }
}

TEST_CASE("rows of wide layers", "[dense]") {
  check_rows(nn::Dense(1000, {.in_units = 512}), {1, 512}, 0, 33);
  check_rows(nn::Dense(10, {.flatten = false, .in_units = 64}), {1, 3, 64});
  check_rows(nn::Dense(3, {.flatten = false, .in_units = 64}), {1, 1, 64});
}

TEST_CASE("rows of convolutions", "[convolution]") {
  struct Case {
    int in, filters, kernel, stride, pad, groups, extent;
  };
  for (const Case& c : {Case{3, 16, 3, 1, 1, 1, 9},
                        {16, 16, 3, 1, 1, 1, 9},
                        {16, 16, 3, 1, 1, 1, 6},
                        {3, 8, 7, 2, 3, 1, 15},
                        {24, 10, 1, 1, 0, 1, 5},
                        {16, 16, 3, 1, 1, 16, 8},
                        {16, 16, 3, 2, 1, 16, 8},
                        {12, 24, 3, 1, 1, 4, 7},
                        {1, 6, 5, 1, 0, 1, 12},
                        {6, 1, 5, 1, 2, 1, 7},
                        {40, 3, 3, 1, 0, 1, 3},
                        {64, 10, 1, 1, 0, 1, 1}}) {
    INFO(c.in << " to " << c.filters << ", kernel " << c.kernel << ", stride " << c.stride);
    const auto layer = [&] {
      return nn::Conv2D(c.filters, {.kernel_size = c.kernel,
                                    .strides = c.stride,
                                    .padding = c.pad,
                                    .groups = c.groups,
                                    .in_channels = c.in});
    };
    check_rows(layer(), {1, c.in, c.extent, c.extent}, 0, 33);
    check_rows(between(layer()), {1, c.in, c.extent, c.extent}, 0, 17);
  }
  check_rows(nn::Conv1D(5, {.kernel_size = 3, .in_channels = 7}), {1, 7, 11}, 0, 33);
  check_rows(nn::Conv3D(4, {.kernel_size = 3, .in_channels = 3}), {1, 3, 5, 6, 5}, 0, 17);
  check_rows(nn::Conv2DTranspose(5, {.kernel_size = 4, .strides = 2, .padding = 1, .in_channels = 6}),
             {1, 6, 4, 4}, 0, 33);
  check_rows(nn::Conv2DTranspose(6, {.kernel_size = 4, .in_channels = 20}), {1, 20, 1, 1}, 0, 33);
}

TEST_CASE("rows of normalizations, poolings and activations", "[layers]") {
  check_rows(nn::LayerNorm({.in_channels = 37}), {1, 37});
  check_rows(nn::LayerNorm({.in_channels = 12}), {1, 5, 12});
  check_rows(nn::BatchNorm({.in_channels = 6}), {1, 6, 5, 5}, 0, 33, /*gradients=*/false);
  check_rows(nn::BatchNorm({.use_global_stats = true, .in_channels = 6}), {1, 6, 5, 5}, 0, 33);
  check_rows(nn::InstanceNorm({.in_channels = 6}), {1, 6, 5, 5}, 0, 33);
  check_rows(nn::GroupNorm({.num_groups = 2}), {1, 6, 5, 5}, 0, 33);
  check_rows(nn::MaxPool2D(2), {1, 5, 6, 7}, 0, 33);
  check_rows(nn::AvgPool2D(3), {1, 5, 7, 7}, 0, 33);
  check_rows(nn::GlobalAvgPool2D(), {1, 10, 7, 7}, 0, 33);
  check_rows(nn::GlobalMaxPool2D(), {1, 10, 7, 7}, 0, 33);
  check_rows(nn::PReLU(), {1, 33});
  check_rows(nn::GELU(), {1, 33});
  check_rows(nn::Swish(), {1, 33});
  check_rows(nn::ELU(), {1, 33});
  check_rows(nn::SELU(), {1, 33});
}

TEST_CASE("rows of recurrent layers", "[recurrent]") {
  for (const std::int64_t hidden : {1, 2, 3, 5, 20})
    for (const bool both : {false, true}) {
      INFO(hidden);
      check_rows(rnn::LSTM(hidden, {.bidirectional = both, .input_size = 9}), {4, 1, 9}, 1, 33);
      check_rows(rnn::GRU(hidden, {.num_layers = 2, .bidirectional = both, .input_size = 9}), {4, 1, 9}, 1,
                 33);
    }
}

TEST_CASE("rows of networks", "[networks]") {
  using namespace model_zoo::vision;
  check_rows(resnet18_v1({.classes = 10}), {1, 3, 32, 32}, 0, 17);
  check_rows(mobilenet_v2_0_25({.classes = 10}), {1, 3, 32, 32}, 0, 17);
}
