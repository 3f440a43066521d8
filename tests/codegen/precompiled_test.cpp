// The kernels that are installed with Kiln: first calls of what many programs meet compile nothing.
#include "compiled_kernels.h"

#include <kiln/kiln.h>
#include <kiln/stats.h>

#include <catch2/catch.hpp>

using namespace kiln;

TEST_CASE("eager operators of any size") {
  CHECK(compiled_by([] {
          const Tensor x = random::uniform(0, 1, {33, 91}), row = random::normal(0, 1, {1, 91});
          const Tensor y = F::exp(x) + F::tanh(x * 2.0) * row;
          y.sum().item<float>();
          F::softmax(y);
          F::argmax(y, {.axis = 1});
          F::dot(y, x, {.transpose_b = true});
        }) == 0);
  CHECK(stats().kernels_loaded > 0);
}

TEST_CASE("networks of dense layers, at any batch size") {
  nn::HybridSequential net;
  net.add(nn::Dense(256, {.activation = "relu"}), nn::Dense(100, {.activation = "relu"}), nn::Dense(10));
  net.initialize();
  net.hybridize();
  CHECK(compiled_by([&] {
          for (const std::int64_t batch : {1, 2, 3, 50, 200}) net(random::normal(0, 1, {batch, 300}));
        }) == 0);
}

TEST_CASE("a network of the model zoo that has other widths than those that were compiled") {
  auto net = model_zoo::vision::mobilenet0_75();
  net.initialize();
  net.hybridize();
  // Its layers have 24, 48, 96, ... channels: a few kernels are for those.
  CHECK(compiled_by([&] { net(random::normal(0, 1, {1, 3, 224, 224})); }) <= 12);
}
