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

  // Record, backward, step.
  auto net = mlp();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
  for (int epoch = 1; epoch <= 6; ++epoch) {
    metric::Loss mean_loss;
    metric::Accuracy train_accuracy, test_accuracy;
    for (std::int64_t i = 0; i < images.shape()[0]; i += batch_size) {
      Tensor x = images[slice(i, i + batch_size)], y = labels[slice(i, i + batch_size)];
      Tensor scores, loss;
      {
        autograd::Record record;
        scores = net(x);
        loss = criterion(scores, y);
      }
      loss.backward();
      trainer.step(batch_size);
      mean_loss.update(loss);
      train_accuracy.update(y, scores);
    }
    test_accuracy.update(test_labels, net(test_images));
    std::printf("epoch %d: loss %.4f, train accuracy %.3f, test accuracy %.3f\n", epoch, mean_loss.value(),
                train_accuracy.value(), test_accuracy.value());
  }

  // The same training with the whole step as one executable. Not a bit differs.
  auto other = mlp();
  Trainer other_trainer(other.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
  auto step = other.train_step(criterion, other_trainer);
  for (int epoch = 1; epoch <= 6; ++epoch) {
    metric::Loss mean_loss;
    for (std::int64_t i = 0; i < images.shape()[0]; i += batch_size)
      mean_loss.update(step(images[slice(i, i + batch_size)], labels[slice(i, i + batch_size)]));
    std::printf("epoch %d by train_step: loss %.4f\n", epoch, mean_loss.value());
  }
  bool same = net(test_images).to_vector<float>() == other(test_images).to_vector<float>();
  std::printf("the same scores: %s\n", same ? "yes" : "no");
}
