// "Multilayer perceptrons with Gluon": training by epochs, and the same training with train_step().
#include "digits.h"

#include <kiln/kiln.h>

#include <cstdio>

using namespace kiln;

constexpr std::int64_t batch_size = 50;

nn::HybridSequential mlp() {
  random::seed(7);  // equal seeds give equal parameters
  nn::HybridSequential net;
  net.add(nn::Dense(64, {.activation = "relu"}), nn::Dense(32, {.activation = "relu"}), nn::Dense(10));
  net.initialize(init::Xavier());
  net.hybridize();
  return net;
}

int main() {
  random::seed(42);
  auto [images, labels] = digits(2000);
  auto [test_images, test_labels] = digits(500);
  loss::SoftmaxCrossEntropyLoss criterion;
  const auto epoch = [&](auto&& step) {
    double sum = 0;
    for (std::int64_t i = 0; i < images.shape()[0]; i += batch_size) {
      Tensor l = step(images[slice(i, i + batch_size)], labels[slice(i, i + batch_size)]);
      sum += l.mean().item<double>();
    }
    return sum / static_cast<double>(images.shape()[0] / batch_size);
  };

  // Record, backward, step.
  auto net = mlp();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
  for (int i = 1; i <= 6; ++i) {
    const double loss = epoch([&](const Tensor& x, const Tensor& y) {
      Tensor l;
      {
        autograd::Record record;
        l = criterion(net(x), y);
      }
      l.backward();
      trainer.step(batch_size);
      return l;
    });
    std::printf("epoch %d: loss %.4f, train accuracy %.3f, test accuracy %.3f\n", i, loss,
                accuracy(net(images), labels), accuracy(net(test_images), test_labels));
  }

  // All three as one executable. Not a bit differs.
  auto other = mlp();
  Trainer other_trainer(other.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
  auto step = other.train_step(criterion, other_trainer);
  for (int i = 1; i <= 6; ++i) std::printf("epoch %d by train_step: loss %.4f\n", i, epoch(step));
  std::printf("the same scores: %s\n",
              net(test_images).to_vector<float>() == other(test_images).to_vector<float>() ? "yes" : "no");
}
