// 200 steps of training: all losses and parameters have the same bits eagerly, hybridized and by
// train_step(), on any number of threads and every instruction set.
#include "same_bits.h"
#include "training_nets.h"

#include <kiln/version.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <functional>

using namespace kiln;

namespace {

constexpr int all_steps = 200;
int steps = all_steps;

/// The outcome of a training: the losses of all steps, then the parameters.
using Outcome = std::vector<Tensor>;

void append_parameters(Outcome& out, const Block& net) {
  for (const Parameter& p : net.collect_params()) out.push_back(p.data().copy());
}

enum class Mode { eager, hybridized, one_call };

/// A step of a training: its four lines, or one call.
class Steps {
 public:
  Steps(HybridBlock& net, loss::Loss& loss, const Trainer& trainer, Mode mode)
      : net_(net), loss_(loss), trainer_(trainer), mode_(mode), step_(net.train_step(loss, trainer)) {
    if (mode != Mode::eager) net.hybridize();
    if (mode != Mode::eager) loss.hybridize();
  }

  Tensor operator()(const Tensors& data, const Tensor& label) {
    const std::int64_t batch = label.shape()[0];
    if (mode_ == Mode::one_call) {
      const Tensor loss = step_(data, label, batch);
      if (!step_.compiled()) FAIL("a step ran line by line");
      return loss;
    }
    Tensor loss;
    {
      const autograd::Record record;
      loss = loss_(net_(data)[0], label);
    }
    loss.backward();
    trainer_.step(batch);
    return loss;
  }

 private:
  HybridBlock& net_;
  loss::Loss& loss_;
  Trainer trainer_;
  Mode mode_;
  TrainStep step_;
};

/// Trains on random batches of `data` and integer labels below `classes`.
Outcome train(HybridBlock& net, const Shape& data, std::int64_t batch, std::int64_t classes,
              std::string_view optimizer, const optimizer::Options& options, Mode mode) {
  net.initialize(init::Xavier());
  loss::SoftmaxCrossEntropyLoss criterion;
  Steps step(net, criterion, Trainer(net.collect_params(), optimizer, options), mode);
  Outcome out;
  for (int i = 0; i < steps; ++i) {
    const Tensor x = random::uniform(-1, 1, data);
    const Tensor label = random::randint(0, classes, {batch});
    out.push_back(step({x}, label));
  }
  append_parameters(out, net);
  return out;
}

Outcome mlp(Mode mode) {
  return train(*training::mlp(), {7, 12}, 7, 5, "sgd",
               {.learning_rate = 0.05,
                .momentum = 0.9,
                .wd = 1e-3,
                .lr_scheduler = lr_scheduler::Cosine({.max_update = all_steps, .warmup_steps = 10})},
               mode);
}

Outcome convolutions(Mode mode) {
  return train(*training::convolutions(), {5, 2, 10, 10}, 5, 4, "nag",
               {.learning_rate = 0.05, .momentum = 0.9, .clip_gradient = 0.5}, mode);
}

/// Steps, batch, channels: the labels are by batch.
Outcome lstm(Mode mode) {
  training::Recurrent net;
  return train(net, {6, 3, 5}, 3, 4, "adam", {.learning_rate = 0.01, .clip_gradient = 0.1}, mode);
}

Outcome encoder(Mode mode) {
  training::Encoder net;
  return train(net, {3, 6, training::Encoder::width}, 3, 4, "adamw", {.learning_rate = 0.003, .wd = 0.01},
               mode);
}

/// The judge's scores of real and of made samples.
struct Judgement : HybridBlock {
  Child<HybridBlock> judge{this, "judge"};
  explicit Judgement(const nn::HybridSequential& net) { judge = net; }
  Tensor hybrid_forward(F& F, const Tensor& real, const Tensor& made) override {
    return F.concat({judge(real), judge(made)}, {.dim = 0});
  }
};

/// The judge's scores of samples that the generator makes of noise.
struct Deceit : HybridBlock {
  Child<HybridBlock> generator{this, "generator"}, judge{this, "judge"};
  Deceit(const nn::HybridSequential& makes, const nn::HybridSequential& judges) {
    generator = makes;
    judge = judges;
  }
  Tensor hybrid_forward(F&, const Tensor& noise) override { return judge(generator(noise)); }
};

/// Two networks and two trainers: each learns from the other's output.
Outcome adversaries(Mode mode) {
  nn::HybridSequential generator, judge;
  generator.add(nn::Dense(12, {.activation = "relu"}), nn::BatchNorm(), nn::Dense(6));
  judge.add(nn::Dense(12), nn::LeakyReLU(0.2), nn::Dropout(0.2), nn::Dense(1));
  for (nn::HybridSequential* net : {&generator, &judge}) net->initialize(init::Normal(0.2));
  if (mode != Mode::eager) generator.hybridize();
  Judgement judgement(judge);
  Deceit deceit(generator, judge);
  loss::SigmoidBCELoss criterion;
  Steps judging(judgement, criterion, Trainer(judge.collect_params(), "rmsprop", {.learning_rate = 0.01}),
                mode);
  Steps making(deceit, criterion,
               Trainer(generator.collect_params(), "adam", {.learning_rate = 0.01, .beta1 = 0.5}), mode);
  constexpr std::int64_t batch = 8;
  const Tensor yes = ones({batch}), both = F::concat({ones({batch}), zeros({batch})}, {.dim = 0});
  Outcome out;
  for (int i = 0; i < steps; ++i) {
    const Tensor real = random::normal(1, 0.5, {batch, 6}), noise = random::normal(0, 1, {batch, 4});
    out.push_back(judging({real, generator(noise)}, both));
    out.push_back(making({noise}, yes));
  }
  append_parameters(out, generator);
  append_parameters(out, judge);
  return out;
}

struct Training {
  const char* name;
  Outcome (*run)(Mode mode);
};
const Training trainings[] = {{"mlp", mlp},
                              {"convolutions", convolutions},
                              {"lstm", lstm},
                              {"encoder", encoder},
                              {"adversaries", adversaries}};

Outcome run(const Training& training, Mode mode, int threads) {
  const ThreadLimit limit(threads);
  random::seed(5);
  return training.run(mode);
}

/// The first array that differs, in words.
std::string difference(const Outcome& a, const Outcome& b) {
  if (a.size() != b.size()) return fmt::format("{} arrays and {}", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return fmt::format("array {} of {}", i, a.size());
  return {};
}

void check(const Training& training) {
  const Outcome expected = run(training, Mode::eager, 1);
  for (const double v : expected.back().to_vector<double>()) CHECK(std::isfinite(v));
  CHECK_FALSE(same_bits(expected[0], expected[static_cast<std::size_t>(steps) - 1]));
  for (const Mode mode : {Mode::eager, Mode::hybridized, Mode::one_call})
    for (const int threads : {1, 2, 5}) {
      if (mode == Mode::eager && threads == 1) continue;
      CAPTURE(static_cast<int>(mode), threads);
      CHECK(difference(run(training, mode, threads), expected) == "");
    }
  for (const std::string& cpu : target_cpus()) {
    set_target_cpu(cpu);
    for (const Mode mode : {Mode::eager, Mode::hybridized, Mode::one_call}) {
      CAPTURE(cpu, static_cast<int>(mode));
      CHECK(difference(run(training, mode, 2), expected) == "");
    }
  }
  set_target_cpu("native");
}

}  // namespace

TEST_CASE("training a multilayer perceptron", "[mlp]") { check(trainings[0]); }
TEST_CASE("training convolutions with BatchNorm and Dropout", "[convolutions]") { check(trainings[1]); }
TEST_CASE("training an LSTM", "[lstm]") { check(trainings[2]); }
TEST_CASE("training a layer of an encoder", "[encoder]") { check(trainings[3]); }
TEST_CASE("training two adversaries with a trainer each", "[adversaries]") { check(trainings[4]); }

TEST_CASE("three steps of each on a GPU", "[.][gpu]") {
  steps = 3;
  for (const Training& training : trainings) {
    const Outcome expected = run(training, Mode::eager, 1);
    for (const Mode mode : {Mode::eager, Mode::hybridized, Mode::one_call}) {
      CAPTURE(training.name, static_cast<int>(mode));
      const DeviceScope scope(cuda(0));
      const Outcome found = run(training, mode, 1);
      CHECK(found.back().device() == cuda(0));
      CHECK(difference(found, expected) == "");
    }
  }
  steps = all_steps;
}
