// Allocations of calls: steps whose code exists allocate nothing, neither objects nor memory of tensors;
// recorded calls allocate little.
#include "counted_allocations.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <functional>

using namespace kiln;

namespace {

/// A network of many layers: a step has more arguments than fit on a stack frame.
struct Training {
  nn::HybridSequential net;
  loss::SoftmaxCrossEntropyLoss criterion;
  Tensor x = random::normal(0, 1, {4, 12}), label = random::randint(0, 3, {4});

  explicit Training(int layers) {
    for (int i = 0; i < layers; ++i) net.add(nn::Dense(8, {.activation = "tanh"}));
    net.add(nn::Dense(3));
    net.initialize(init::Xavier());
    net.hybridize();
    net(x);
  }
};

/// Runs a call some times after two that make what is made once.
void check_allocates_nothing(const std::function<void()>& call) {
  call();
  call();
  const MemoryReport before = memory_report();
  const std::size_t made = Allocations::made;
  for (int i = 0; i < 10; ++i) call();
  CHECK(Allocations::made == made);
  CHECK(memory_report().live_bytes == before.live_bytes);
  CHECK(memory_report().pooled_bytes == before.pooled_bytes);
}

constexpr int depths[] = {1, 30};

}  // namespace

TEST_CASE("a bound call of many arguments allocates nothing") {
  const ThreadLimit limit(1);
  for (const int layers : depths) {
    Training task(layers);
    auto call = task.net.bind({task.x});
    check_allocates_nothing([&] { call(); });
  }
}

TEST_CASE("a train_step() allocates nothing, whatever numbers its optimizer takes") {
  const ThreadLimit limit(1);
  for (const std::string optimizer : {"sgd", "adam", "lars", "nadam", "lamb"})
    for (const int layers : depths) {
      CAPTURE(optimizer, layers);
      Training task(layers);
      const Trainer trainer(task.net.collect_params(), optimizer, {.learning_rate = 0.01});
      TrainStep step = task.net.train_step(task.criterion, trainer);
      check_allocates_nothing([&] { step(task.x, task.label); });
      Tensor last;
      check_allocates_nothing([&] { last = step(task.x, task.label); });
      CHECK(step.compiled());
    }
}

TEST_CASE("an update of a Trainer allocates nothing") {
  const ThreadLimit limit(1);
  Training task(30);
  Trainer trainer(task.net.collect_params(), "adam",
                  {.learning_rate = 0.01, .lr_scheduler = lr_scheduler::Cosine({.max_update = 100})});
  std::size_t made = 0;
  for (int i = 0; i < 5; ++i) {
    Tensor l;
    {
      const autograd::Record record;
      l = task.criterion(task.net(task.x), task.label);
    }
    l.backward();
    const std::size_t before = Allocations::made;
    trainer.step(4);
    made = Allocations::made - before;
  }
  CHECK(made == 0);
}

TEST_CASE("a loss that the program has, or the tape, is not written by later steps") {
  Training task(1);
  const Trainer trainer(task.net.collect_params(), "sgd", {.learning_rate = 0.1});
  TrainStep step = task.net.train_step(task.criterion, trainer);
  std::vector<Tensor> losses, copies;
  for (int i = 0; i < 5; ++i) {
    losses.push_back(step(task.x, task.label));
    copies.push_back(losses.back().copy());
  }
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(same_bits(losses[i], copies[i]));

  // Only the tape still needs the loss: it is the gradient of w.
  Tensor w = ones({4});
  w.attach_grad();
  Tensor product, expected;
  {
    const Tensor l = step(task.x, task.label);
    expected = l.copy();
    const autograd::Record record;
    product = w * l;
  }
  for (int i = 0; i < 4; ++i) step(task.x, task.label);
  product.backward();
  CHECK(same_bits(w.grad(), expected));

  // A gradient attached to a loss is not one of later losses.
  step(task.x, task.label).attach_grad();
  for (int i = 0; i < 4; ++i) CHECK_FALSE(autograd::is_recorded(step(task.x, task.label)));
}

TEST_CASE("a recorded call of an operator allocates its result, an entry and the result's link") {
  const ThreadLimit limit(1);
  Tensor x = random::normal(0, 1, {16}), y = random::normal(0, 1, {16});
  x.attach_grad();
  y.attach_grad();
  const auto made_by = [](const std::function<Tensor()>& call) {
    call();
    Tensor kept = call();  // makes the pool's memory
    const std::size_t before = Allocations::made;
    kept = call();
    return Allocations::made - before;
  };
  // `more` than the same call outside of Record.
  const auto check = [&](std::size_t more, const std::function<Tensor()>& call) {
    const std::size_t recorded = made_by(call);
    const autograd::Pause pause;
    CHECK(recorded <= made_by(call) + more);
  };
  const autograd::Record record;
  check(2, [&] { return x + y; });
  check(2, [&] { return x * y; });
  check(2, [&] { return x * 2; });
  // An array that several calls read is saved once.
  const Tensor z = x * y;
  check(2, [&] { return z * z; });
  check(3, [&] { return F::exp(z); });
  // A chain of links leads to an entry that ends without a list.
  Tensor sum = x * 1;
  if (allocations_counted) CHECK(made_by([&] { return sum = sum + y; }) == 3);
}
