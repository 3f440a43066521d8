// Ten thousand steps of training keep no more than a hundred: memory, the tape's entries, recordings and
// kernels.
#include "counted_allocations.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <functional>
#include <optional>

using namespace kiln;

namespace {

/// Memory and objects that a step could leave allocated.
struct Kept {
  std::size_t bytes = memory_report().live_bytes, arena = memory_report().arena_bytes;
  std::size_t objects = Allocations::alive();  // entries of the tape are among them
  Stats caches = stats();

  bool operator==(const Kept& o) const {
    return bytes == o.bytes && arena == o.arena && objects == o.objects &&
           caches.kernels == o.caches.kernels && caches.recordings == o.caches.recordings &&
           caches.recordings_made == o.caches.recordings_made &&
           caches.graphs_compiled == o.caches.graphs_compiled && caches.prepacked == o.caches.prepacked &&
           caches.prepacked_bytes == o.caches.prepacked_bytes;
  }
};

void check_steps(int steps, const std::function<void()>& step) {
  std::optional<Kept> early;
  for (int i = 1; i <= steps; ++i) {
    step();
    if (i == 100) early.emplace();
  }
  const Kept late;
  CAPTURE(early->bytes, late.bytes, early->objects, late.objects, early->caches.kernels, late.caches.kernels,
          early->caches.graphs_compiled, late.caches.graphs_compiled);
  CHECK(late == *early);
}

enum class Mode { eager, hybridized, one_call };

/// A small network that is trained, and its four lines.
struct Training {
  nn::HybridSequential net;
  loss::SoftmaxCrossEntropyLoss criterion;
  Tensor x = random::normal(0, 1, {4, 12}), label = random::randint(0, 3, {4});
  std::optional<Trainer> trainer;
  std::optional<TrainStep> one_call;

  explicit Training(Mode mode, const optimizer::Options& options = {.learning_rate = 0.01, .momentum = 0.9}) {
    net.add(nn::Dense(8, {.activation = "tanh", .in_units = 12}), nn::Dense(3, {.in_units = 8}));
    net.initialize(init::Xavier());
    if (mode != Mode::eager) net.hybridize();
    trainer.emplace(net.collect_params(), "sgd", options);
    if (mode == Mode::one_call) one_call = net.train_step(criterion, *trainer);
  }

  Tensor loss() {
    const autograd::Record record;
    return criterion(net(x), label);
  }
  Tensor operator()(const autograd::BackwardOptions& options = {}) {
    if (one_call) return (*one_call)(x, label);
    const Tensor l = loss();
    l.backward({}, options);
    trainer->step(4);
    return l;
  }
};

constexpr int many = 10'000;
constexpr Mode modes[] = {Mode::eager, Mode::hybridized, Mode::one_call};

}  // namespace

TEST_CASE("steps keep nothing") {
  for (const Mode mode : modes) {
    CAPTURE(static_cast<int>(mode));
    Training step(mode);
    check_steps(many, [&] { step(); });
  }
}

TEST_CASE("a loss that lives until the next one, and a sum of losses, keep nothing of earlier steps") {
  for (const Mode mode : modes) {
    CAPTURE(static_cast<int>(mode));
    Training step(mode);
    Tensor last, sum = zeros({4});
    check_steps(many, [&] {
      last = step();
      sum = sum + last;
    });
    CHECK(last.shape() == Shape{4});
    CHECK(F::sum(sum).item<float>() > 0);
  }
}

TEST_CASE("a schedule of the learning rate compiles nothing") {
  for (const Mode mode : modes) {
    CAPTURE(static_cast<int>(mode));
    Training step(mode, {.learning_rate = 0.05,
                         .momentum = 0.9,
                         .lr_scheduler = lr_scheduler::Cosine({.max_update = 2 * many, .warmup_steps = 50})});
    check_steps(many, [&] { step(); });
    CHECK(step.trainer->learning_rate() > 0);
    CHECK(step.trainer->learning_rate() < 0.05);
  }
}

TEST_CASE("a tape that is retained ends with its loss") {
  for (const Mode mode : {Mode::eager, Mode::hybridized}) {
    CAPTURE(static_cast<int>(mode));
    Training step(mode);
    Tensor last;
    check_steps(many, [&] { last = step({.retain_graph = true}); });
    // Twice through the same tape.
    check_steps(many / 10, [&] {
      last = step.loss();
      last.backward({}, {.retain_graph = true});
      last.backward();
      step.trainer->step(4);
    });
  }
}

TEST_CASE("gradients of gradients keep nothing") {
  for (const Mode mode : {Mode::eager, Mode::hybridized}) {
    CAPTURE(static_cast<int>(mode));
    Training step(mode);
    step.x.attach_grad();
    Tensor last;
    check_steps(1000, [&] {
      {
        const autograd::Record record;
        const Tensor l = step.criterion(step.net(step.x), step.label);
        const Tensor g = autograd::grad({l}, {step.x}, {.create_graph = true})[0];
        last = F::sum(l) + F::sum(g * g);
      }
      last.backward();
      step.trainer->step(4);
    });
  }
}
