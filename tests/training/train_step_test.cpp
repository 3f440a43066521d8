// train_step(): its bits with every kind of number that changes, recomputation, and its errors. Bits of long
// trainings are compared in training_test.cpp.
#include "check_same_bits.h"
#include "golden_files.h"
#include "temporary_folder.h"
#include "training_nets.h"

#include <catch2/catch.hpp>

using namespace kiln;
using Catch::Contains;
using Catch::StartsWith;
using golden::error_of;

namespace {

/// A network with a loss and data.
struct Task {
  training::Net net;
  std::shared_ptr<loss::Loss> loss = std::make_shared<loss::SoftmaxCrossEntropyLoss>();
  Tensor x, label;
};

Task task_of(training::Net net, const Shape& data, std::int64_t classes) {
  random::seed(5);
  Task task{std::move(net)};
  task.net->initialize(init::Xavier());
  task.x = random::normal(0, 1, data);
  task.label = random::randint(0, classes, {data[0]});
  (*task.net)(task.x);
  return task;
}
Task mlp() { return task_of(training::mlp(), {7, 12}, 5); }
Task convolutions() { return task_of(training::convolutions(), {5, 2, 10, 10}, 4); }
Task encoder() { return task_of(std::make_shared<training::Encoder>(), {3, 6, training::Encoder::width}, 4); }

/// Adds a network of three layers to its input.
class Residual : public HybridBlock {
 public:
  Residual() {
    first_ = nn::Dense(12);
    second_ = nn::Dense(12, {.activation = "sigmoid"});
    third_ = nn::Dense(12);
  }

 protected:
  /// x * hard_sigmoid(x), of MobileNet v3: its gradient reads two functions of x.
  static Tensor hard_swish(F& F, const Tensor& x) { return x * (F.clip(x + 3, 0, 6) / 6); }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return hard_swish(F, x + third_(F.tanh(second_(hard_swish(F, first_(x))))));
  }

 private:
  Child<nn::Dense> first_{this, "first"}, second_{this, "second"}, third_{this, "third"};
};
Task residual() {
  auto net = std::make_shared<nn::HybridSequential>();
  net->add(Residual(), Residual(), nn::Dense(4));
  return task_of(net, {7, 12}, 4);
}
/// Its blocks as the end of a convolutional network.
Task mixed() {
  auto net = std::make_shared<nn::HybridSequential>();
  net->add(nn::Conv2D(3, {.kernel_size = 3}), nn::BatchNorm(), nn::Activation("relu"), nn::Flatten(),
           nn::Dense(12), Residual(), nn::Dense(4));
  return task_of(net, {5, 2, 8, 8}, 4);
}

enum class Mode { eager, hybridized, train_step };

/// Losses of all steps, then all parameters.
Tensors train(Task (*make)(), Mode mode, int steps, const optimizer::Options& options,
              const std::string& optimizer = "sgd", Recompute recompute = Recompute::cheap) {
  const Task task = make();
  if (mode != Mode::eager) task.net->hybridize({.recompute = recompute});
  Trainer trainer(task.net->collect_params(), optimizer, options);
  TrainStep step = task.net->train_step(*task.loss, trainer);
  random::seed(23);
  Tensors out;
  for (int i = 0; i < steps; ++i) {
    Tensor l;
    if (mode == Mode::train_step) {
      l = step(task.x, task.label);
      CHECK(step.compiled());
    } else {
      {
        const autograd::Record record;
        l = (*task.loss)((*task.net)(task.x), task.label);
      }
      l.backward();
      trainer.step(task.x.shape()[0]);
    }
    out.push_back(l);
  }
  for (const Parameter& p : task.net->collect_params()) out.push_back(p.data().copy());
  return out;
}

}  // namespace

TEST_CASE("numbers of optimizers that change from step to step", "[train_step]") {
  for (const std::string name : {"adam", "lamb", "nadam", "sgld"}) {
    INFO(name);
    const optimizer::Options options{.learning_rate = 0.01, .wd = 0.001};
    const Tensors eager = train(mlp, Mode::eager, 4, options, name);
    check_same_bits(eager, train(mlp, Mode::hybridized, 4, options, name));
    check_same_bits(eager, train(mlp, Mode::train_step, 4, options, name));
  }
}

TEST_CASE("what is recomputed changes no bit, and the bytes that are saved", "[train_step]") {
  for (Task (*make)() : {mlp, convolutions, residual, mixed, encoder}) {
    const Tensors eager = train(make, Mode::eager, 2, {.learning_rate = 0.1});
    for (const Recompute policy : {Recompute::none, Recompute::cheap, Recompute::all, Recompute::blocks})
      check_same_bits(eager, train(make, Mode::hybridized, 2, {.learning_rate = 0.1}, "sgd", policy));
  }
  const auto recorded = [](Task (*make)(), Recompute policy) {
    const Task task = make();
    task.net->hybridize({.recompute = policy});
    const autograd::Record record;
    (*task.net)(task.x);
    return task.net->compiled_calls().at(0);
  };
  const auto saved = [&](Task (*make)(), Recompute policy) { return recorded(make, policy).saved_bytes; };
  for (Task (*make)() : {convolutions, residual, mixed}) {
    CHECK(saved(make, Recompute::cheap) < saved(make, Recompute::none));
    CHECK(saved(make, Recompute::all) < saved(make, Recompute::cheap));
    CHECK(recorded(make, Recompute::none).recomputed_bytes == 0);
    CHECK(recorded(make, Recompute::cheap).recomputed_bytes > 0);
    CHECK(recorded(make, Recompute::all).recomputed_bytes >=
          recorded(make, Recompute::cheap).recomputed_bytes);
  }
  CHECK(saved(residual, Recompute::blocks) < saved(residual, Recompute::none));
}

TEST_CASE("a step follows its network and its trainer", "[train_step]") {
  Task task = mlp();
  Trainer trainer(task.net->collect_params(), "sgd", {.learning_rate = 0.5});
  TrainStep step = task.net->train_step(*task.loss, trainer);
  const Tensor first = step(task.x, task.label);
  const std::vector<float> kept = first.to_vector<float>();
  CHECK(trainer.num_update() == 1);

  // The loss of an earlier step stays what it was.
  step(task.x, task.label);
  CHECK(first.to_vector<float>() == kept);

  // A rate of 0 changes nothing, without another compilation.
  trainer.set_learning_rate(0);
  const Tensor weight = task.net->collect_params().items()[0].data().copy();
  const std::uint64_t compiled = stats().graphs_compiled;
  step(task.x, task.label);
  CHECK(same_bits(weight, task.net->collect_params().items()[0].data()));
  CHECK(stats().graphs_compiled == compiled);

  // Another batch is another signature; the batch size divides the gradients.
  step(F::slice_axis(task.x, {.axis = 0, .begin = 0, .end = 1}),
       F::slice_axis(task.label, {.axis = 0, .begin = 0, .end = 1}));
  CHECK(step.compiled());

  // Gradients have no arrays: gradients of earlier passes stay.
  CHECK(F::sum(F::abs(task.net->collect_params().items()[0].grad())).item<float>() == 0);
}

TEST_CASE("a compiled step begins with new states after states of no update are loaded", "[train_step]") {
  Task task = mlp();
  Trainer trainer(task.net->collect_params(), "sgd", {.learning_rate = 0.5, .momentum = 0.9});
  const TemporaryFolder folder;
  const std::string path = (folder.path / "new.params").string();
  trainer.save_states(path);
  TrainStep step = task.net->train_step(*task.loss, trainer);
  const std::vector<Parameter> parameters = task.net->collect_params().items();
  Tensors before, after;
  for (const Parameter& p : parameters) before.push_back(p.data().copy());
  step(task.x, task.label);
  for (const Parameter& p : parameters) after.push_back(p.data().copy());
  step(task.x, task.label);

  trainer.load_states(path);
  for (std::size_t i = 0; i < parameters.size(); ++i) Parameter(parameters[i]).set_data(before[i]);
  step(task.x, task.label);
  CHECK(step.compiled());
  CHECK(trainer.num_update() == 1);
  for (std::size_t i = 0; i < parameters.size(); ++i) CHECK(same_bits(parameters[i].data(), after[i]));
}

TEST_CASE("a step that cannot be one executable runs line by line", "[train_step]") {
  Task task = mlp();
  Trainer checked(task.net->collect_params(), "sgd", {}, {.check_finite = true});
  TrainStep step = task.net->train_step(*task.loss, checked);
  step(task.x, task.label);
  CHECK_FALSE(step.compiled());
  CHECK(checked.num_update() == 1);

  Parameter added = task.net->collect_params().items()[0];
  added.set_grad_req(GradReq::add);
  Trainer trainer(task.net->collect_params(), "sgd");
  TrainStep adds = task.net->train_step(*task.loss, trainer);
  adds(task.x, task.label);
  CHECK_FALSE(adds.compiled());
}

TEST_CASE("errors of a step", "[train_step]") {
  Task task = mlp();
  Trainer trainer(task.net->collect_params(), "sgd");
  TrainStep step = task.net->train_step(*task.loss, trainer);
  CHECK_THAT(error_of([&] {
               const autograd::Record record;
               step(task.x, task.label);
             }),
             Contains("train_step_test.cpp:") && Contains("outside of autograd::Record"));
  CHECK_THAT(error_of([&] { step(task.x, task.label, -1); }), Contains("at least 1"));
  CHECK_THAT(error_of([&] { step(task.x, Tensor()); }),
             Contains("the label of the step is an undefined Tensor"));
  // The loss has the program's line, and so has a network that is a layer of the library.
  CHECK_THAT(error_of([&] { step(task.x, ones({6})); }), StartsWith("train_step_test.cpp:"));
  nn::Dense dense(2, {.in_units = 3});
  TrainStep uninitialized = dense.train_step(*task.loss, Trainer(dense.collect_params(), "sgd"));
  CHECK_THAT(error_of([&] {
               uninitialized(ones({1, 3}), ones({1}));
             }),
             StartsWith("train_step_test.cpp:") && Contains("initialize()"));
  // A parameter that takes no part in the loss has no gradient.
  ParameterDict more = task.net->collect_params();
  const nn::Dense other(2, {.in_units = 2, .prefix = "other_"});
  other.initialize();
  more.update(other.collect_params());
  Trainer of_both(more, "sgd");
  TrainStep stale = task.net->train_step(*task.loss, of_both);
  CHECK_THAT(error_of([&] { stale(task.x, task.label); }),
             Contains("Gradient of Parameter `other_") && Contains("has not been updated"));
  task.net.reset();
  CHECK_THAT(error_of([&] { step(task.x, task.label); }),
             Contains("the network of this train_step() has ended"));
}
