// Handwritten digits in int8: a trained network, quantised by each calibration or of its weights alone, finds
// the classes of the float network, with one result in all modes.
#include "check_same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>

using namespace kiln;
namespace vision = data::vision;
namespace transforms = data::vision::transforms;

namespace {

/// The images of the folder, or the held out ones; pixels from 0 to 1.
data::DataLoader images(bool train, std::int64_t batch_size, bool shuffle = false) {
  const transforms::Compose to_network({transforms::ToTensor(), transforms::Normalize(0, 16.0 / 255)});
  return {vision::MNIST(KILN_TEST_DATA "/../tutorials/digits", train).transform_first(to_network),
          {.batch_size = batch_size, .shuffle = shuffle, .seed = 3}};
}

nn::HybridSequential trained() {
  random::seed(7);
  nn::HybridSequential net;
  for (const int channels : {16, 32})
    net.add(nn::Conv2D(channels, {.kernel_size = 3, .padding = 1}), nn::BatchNorm(), nn::Activation("relu"),
            nn::MaxPool2D({.pool_size = 2, .strides = 2}));
  net.add(nn::Flatten(), nn::Dense(64, {.activation = "relu"}), nn::Dense(10));
  net.initialize(init::Xavier());
  net.hybridize();
  loss::SoftmaxCrossEntropyLoss criterion;
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.005});
  const data::DataLoader batches = images(true, 32, true);
  for (int epoch = 0; epoch < 4; ++epoch)
    for (const auto& [x, y] : batches) {
      Tensor loss;
      {
        const autograd::Record record;
        loss = criterion(net(x), y);
      }
      loss.backward();
      trainer.step(x.shape()[0]);
    }
  return net;
}

}  // namespace

TEST_CASE("int8 networks of handwritten digits find the classes of the float network", "[digits]") {
  auto net = trained();
  for (const QuantizeOptions& options : {QuantizeOptions{.calibration = Calibration::extremes},
                                         {.calibration = Calibration::percentile},
                                         {.calibration = Calibration::entropy},
                                         {.weights_only = true}}) {
    CAPTURE(static_cast<int>(options.calibration), options.weights_only);
    SymbolBlock int8 = quantize(net, images(true, 64), options);
    std::vector<Tensor> inputs, results;
    double rows = 0, same = 0, right = 0, right_int8 = 0;
    for (const bool train : {true, false})
      for (const auto& [x, y] : images(train, 100)) {
        inputs.push_back(x);
        results.push_back(int8(x));
        const Tensor label = y.astype(DType::f32), classes = net(x).argmax(1),
                     int8_classes = results.back().argmax(1);
        rows += static_cast<double>(x.shape()[0]);
        same += (classes == int8_classes).sum().item<double>();
        right += (classes == label).sum().item<double>();
        right_int8 += (int8_classes == label).sum().item<double>();
      }
    CHECK(rows == 1797);
    INFO(same << " classes are the same, " << right << " of the float network and " << right_int8
              << " are right");
    CHECK(same >= 0.99 * rows);
    CHECK(right > 0.97 * rows);
    CHECK(right_int8 > 0.97 * rows);

    int8.hybridize();
    const int threads = num_threads();
    for (const int n : {1, 2}) {
      set_num_threads(n);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        CHECK(same_bits(int8(inputs[i]), results[i]));
        CHECK(same_bits(int8.bind({inputs[i]}).run().at(0), results[i]));
      }
    }
    set_num_threads(threads);
  }
}
