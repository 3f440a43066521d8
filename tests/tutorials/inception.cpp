// An Inception block of GoogLeNet: four paths side by side, joined along the channels.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

nn::HybridSequential convolution(int channels, int kernel, int padding = 0) {
  nn::HybridSequential out;
  out.add(nn::Conv2D(channels, {.kernel_size = kernel, .padding = padding, .use_bias = false}),
          nn::BatchNorm({.epsilon = 1e-3}), nn::Activation("relu"));
  return out;
}

nn::HybridConcurrent inception(int c1, int c2a, int c2b, int c3a, int c3b, int c4) {
  nn::HybridSequential p1, p2, p3, p4;
  p1.add(convolution(c1, 1));
  p2.add(convolution(c2a, 1), convolution(c2b, 3, 1));
  p3.add(convolution(c3a, 1), convolution(c3b, 5, 2));
  p4.add(nn::MaxPool2D(3, 1, 1), convolution(c4, 1));
  nn::HybridConcurrent out(/*axis=*/1, {.prefix = "inception_"});
  out.add(p1, p2, p3, p4);
  return out;
}

int main() {
  auto net = inception(4, 6, 8, 2, 4, 4);
  net.initialize(init::Xavier());
  auto x = random::uniform(-1, 1, {2, 8, 14, 14});
  auto eager = net(x);
  std::cout << net << "\n" << eager.shape().str() << "\n";

  net.hybridize();
  std::cout << "the same: " << std::boolalpha << (net(x).to_vector<float>() == eager.to_vector<float>())
            << "\n";
  nn::HybridSequential top;
  top.add(net, nn::GlobalAvgPool2D(), nn::Dropout(0.4), nn::Flatten(), nn::Dense(10));
  top.initialize(init::Xavier());
  top.hybridize();
  std::cout << top(x).shape().str() << "\n";
}
