// Networks and checks that tests of int8 networks share.
#pragma once
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>

/// Convolutions with BatchNorm and without, pooling, and dense layers, for images of (3, 10, 10).
inline kiln::nn::HybridSequential convolutions() {
  namespace nn = kiln::nn;
  nn::HybridSequential net;
  net.add(nn::Conv2D(8, {.kernel_size = 3, .padding = 1}), nn::BatchNorm(), nn::Activation("relu"),
          nn::Conv2D(8, {.kernel_size = 3, .padding = 1, .use_bias = false}), nn::Activation("relu"),
          nn::MaxPool2D(), nn::Flatten(), nn::Dense(16, {.activation = "tanh"}), nn::Dense(4));
  net.initialize(kiln::init::Xavier());
  return net;
}

/// Random weights of int8.
inline kiln::Tensor integers(const kiln::Shape& shape) {
  return kiln::nd::random::uniform(-127.4, 127.4, shape).astype(kiln::DType::i8);
}

inline double largest_difference(const kiln::Tensor& a, const kiln::Tensor& b) {
  double most = 0;
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

/// The same results eagerly, hybridized and bound, on one thread and on two.
inline void check_modes(kiln::SymbolBlock& net, const kiln::Tensor& x) {
  const int before = kiln::num_threads();
  net.hybridize(false);
  const kiln::Tensor expected = net(x);
  for (const int threads : {1, 2}) {
    kiln::set_num_threads(threads);
    net.hybridize(false);
    CHECK(same_bits(net(x), expected));
    net.hybridize();
    CHECK(same_bits(net(x), expected));
    kiln::BoundCall call = net.bind({x});
    CHECK(same_bits(call.run().at(0), expected));
  }
  kiln::set_num_threads(before);
}
