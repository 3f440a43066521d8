// Lesson 6: a network learns. A DataLoader makes batches, a loss compares, a Trainer updates the parameters.
#include <kiln/kiln.h>

#include <cstdio>

using namespace kiln;

/// Points of two interleaved spirals, each with the number of its spiral.
data::Dataset spirals(std::int64_t size) {
  Tensor t = random::uniform(0.5, 3, {size, 1});
  Tensor label = random::uniform(0, 1, {size, 1}) < 0.5;
  Tensor angle = t * 2.5 + label * 3.14159;
  Tensor points = F::concat({F::cos(angle) * t, F::sin(angle) * t}, 1);
  return data::ArrayDataset(points + random::normal(0, 0.1, {size, 2}), label.reshape({-1}));
}

int main() {
  random::seed(1);  // all that follows is a function of this number
  nn::HybridSequential net;
  net.add(nn::Dense(32, {.activation = "tanh"}), nn::Dense(32, {.activation = "tanh"}), nn::Dense(2));
  net.initialize(init::Xavier());
  net.hybridize();

  // Batches come in a new order in each epoch. Workers make them ahead, with the same bits for any number.
  data::DataLoader batches(spirals(2048), {.batch_size = 64, .shuffle = true, .num_workers = 2});
  data::DataLoader held_out(spirals(512), {.batch_size = 128});

  // The optimizers and schedules have MXNet's names and options. A new rate compiles nothing.
  loss::SoftmaxCrossEntropyLoss criterion;
  Trainer trainer(net.collect_params(), "adam",
                  {.learning_rate = 0.03, .lr_scheduler = lr_scheduler::Cosine({.max_update = 256})});

  for (int epoch = 1; epoch <= 8; ++epoch) {
    metric::Loss mean_loss;
    for (const auto& [x, label] : batches) {
      Tensor loss = autograd::record([&] { return criterion(net(x), label); });
      loss.backward();
      trainer.step(x.shape()[0]);  // gradients are divided by the batch size
      mean_loss.update(loss);
    }
    // Outside of record() a call predicts: Dropout and BatchNorm behave accordingly.
    metric::Accuracy accuracy;
    for (const auto& [x, label] : held_out) accuracy.update(label, net(x));
    std::printf("epoch %d: loss %.4f, accuracy %.3f, next rate %.5f\n", epoch, mean_loss.value(),
                accuracy.value(), trainer.learning_rate());
  }
  std::printf("%d updates\n", static_cast<int>(trainer.num_update()));
}
