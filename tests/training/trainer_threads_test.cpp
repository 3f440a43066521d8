// Two threads, each with a separate network and Trainer: each trains the same as alone.
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <thread>

using namespace kiln;

namespace {

enum class Mode { eager, hybridized, one_call };
constexpr int steps = 40;

/// A network, its data and its optimizer. Draws nothing once it is made: all threads share the random
/// numbers.
struct Task {
  nn::HybridSequential net;
  loss::SoftmaxCrossEntropyLoss criterion;
  Tensor x, label;
  std::string optimizer;
  Mode mode;

  /// The same for the same arguments.
  Task(int number, Mode m) : optimizer(number == 0 ? "sgd" : "adam"), mode(m) {
    random::seed(static_cast<std::uint64_t>(number) + 30);
    net.add(nn::Conv2D(4, {.kernel_size = 3, .in_channels = 2}), nn::BatchNorm({.in_channels = 4}),
            nn::Activation("relu"), nn::MaxPool2D());
    if (number == 1)
      net.add(nn::Dense(7, {.activation = "tanh", .in_units = 16}), nn::Dense(3, {.in_units = 7}));
    else
      net.add(nn::Dense(3, {.in_units = 16}));
    net.initialize(init::Xavier());
    x = random::normal(0, 1, {4, 2, 6, 6});
    label = random::randint(0, 3, {4});
  }

  /// The last loss, then all parameters.
  Tensors train() {
    if (mode != Mode::eager) net.hybridize();
    Trainer trainer(net.collect_params(), optimizer,
                    {.learning_rate = 0.01, .lr_scheduler = lr_scheduler::Cosine({.max_update = steps})});
    std::optional<TrainStep> step;
    if (mode == Mode::one_call) step = net.train_step(criterion, trainer);
    Tensor last;
    for (int i = 0; i < steps; ++i) {
      if (step) {
        last = (*step)(x, label);
        continue;
      }
      {
        const autograd::Record record;
        last = criterion(net(x), label);
      }
      last.backward();
      trainer.step(4);
    }
    Tensors out{last};
    for (const Parameter& p : net.collect_params()) out.push_back(p.data().copy());
    return out;
  }
};

}  // namespace

TEST_CASE("two threads train what one thread trains after another") {
  Tensors alone[2];
  for (const int number : {0, 1}) alone[number] = Task(number, Mode::eager).train();
  CHECK_FALSE(same_bits(alone[0][0], alone[1][0]));
  for (const Mode first : {Mode::eager, Mode::hybridized, Mode::one_call})
    for (const Mode second : {Mode::eager, Mode::hybridized, Mode::one_call})
      for (const bool same : {false, true}) {  // two networks of one structure share all code
        CAPTURE(static_cast<int>(first), static_cast<int>(second), same);
        std::unique_ptr<Task> tasks[] = {std::make_unique<Task>(0, first),
                                         std::make_unique<Task>(same ? 0 : 1, second)};
        Tensors got[2];
        std::thread threads[2];
        for (const int i : {0, 1}) threads[i] = std::thread([&, i] { got[i] = tasks[i]->train(); });
        for (std::thread& t : threads) t.join();
        for (const int i : {0, 1}) {
          const Tensors& expected = alone[same ? 0 : i];
          REQUIRE(got[i].size() == expected.size());
          for (std::size_t k = 0; k < expected.size(); ++k) {
            CAPTURE(i, k);
            CHECK(same_bits(got[i][k], expected[k]));
          }
        }
      }
}
