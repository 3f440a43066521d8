// Networks that tests of quantize() share.
#pragma once
#include <kiln/kiln.h>

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
