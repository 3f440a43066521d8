// "Learning rate schedules": the rates of six schedules, and the accuracy of a network that Adam trained with
// each.
#include "digits.h"

#include <kiln/kiln.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace kiln;
using lr_scheduler::Schedule;

// The accuracy on test images after 300 steps.
double train(const optimizer::Options& options) {
  random::seed(1);
  auto [images, labels] = digits(1600);
  auto [test_images, test_labels] = digits(1000);
  nn::HybridSequential net;
  net.add(nn::Dense(48, {.activation = "relu"}), nn::Dense(10));
  net.initialize(init::Xavier());
  net.hybridize();
  loss::SoftmaxCrossEntropyLoss criterion;
  Trainer trainer(net.collect_params(), "adam", options);
  auto step = net.train_step(criterion, trainer);
  for (int i = 0; i < 300; ++i) {
    const auto batch = slice(32 * (i % 50), 32 * (i % 50 + 1));
    step(images[batch], labels[batch]);
  }
  return accuracy(net(test_images), test_labels);
}

int main() {
  constexpr double rate = 0.06;
  // Schedules with a given base_lr; others begin at the optimizer's learning_rate.
  const std::vector<std::pair<const char*, Schedule>> schedules = {
      {"factor", lr_scheduler::Factor({.step = 75, .factor = 0.5, .base_lr = rate})},
      {"multi-factor", lr_scheduler::MultiFactor({.step = {150, 240}, .factor = 0.1, .base_lr = rate})},
      {"polynomial", lr_scheduler::Poly({.max_update = 300, .base_lr = rate, .pwr = 2})},
      {"cosine", lr_scheduler::Cosine({.max_update = 300, .base_lr = rate, .final_lr = 0.0001})},
      {"with warm-up", lr_scheduler::Cosine({.max_update = 300, .base_lr = rate, .warmup_steps = 60})},
      // any function of the number of the update: a triangle, as of cyclical schedules
      {"triangle",
       [=](std::int64_t update) { return rate * (1 - std::abs(double(update % 150) - 75) / 75); }},
  };

  std::printf("%-13s", "update");
  for (int update : {1, 30, 75, 76, 150, 151, 225, 300}) std::printf("%9d", update);
  std::printf("     accuracy\n");
  for (const auto& [name, schedule] : schedules) {
    std::printf("%-13s", name);
    for (int update : {1, 30, 75, 76, 150, 151, 225, 300}) std::printf("%9.5f", schedule(update));
    std::printf("%9.4f\n", train({.lr_scheduler = schedule}));
  }
  std::printf("%-85s%9.4f\n", "constant", train({.learning_rate = rate}));
}
