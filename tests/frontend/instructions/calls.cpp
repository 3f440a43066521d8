// calls KIND N: makes N calls of one kind, after the calls that record and compile. The instructions of a
// call are a difference of two runs.
#include <kiln/kiln.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>

using namespace kiln;

namespace {

struct AddOne : HybridBlock {
  Tensor hybrid_forward(F&, const Tensor& x) override { return x + 1; }
};

struct MulAdd : HybridBlock {
  Tensor hybrid_forward(F&, const Tensor& x, const Tensor& y) override { return x * y + 1; }
};

void multiply_add(int calls) {
  MulAdd net;
  net.hybridize();
  const Tensor x = ones({10}), y = ones({10});
  for (int i = 0; i < calls; ++i) const Tensor z = net(x, y);
}

nn::HybridSequential perceptron() {
  nn::HybridSequential net;
  net.add(nn::Dense(16, {.activation = "relu", .in_units = 8}), nn::Dense(4, {.in_units = 16}));
  net.initialize(init::Xavier());
  return net;
}

/// `x + 1`, by the operator or by a block; `recorded`: in autograd::Record, with a gradient attached.
void add_one(int calls, const std::function<Tensor(const Tensor&)>& call, bool recorded) {
  Tensor x = ones({1});
  if (recorded) x.attach_grad();
  std::optional<autograd::Record> record;
  if (recorded) record.emplace();
  for (int i = 0; i < calls; ++i) const Tensor y = call(x);
}
void add_one_by_block(int calls, bool hybrid, bool recorded) {
  AddOne net;
  if (hybrid) net.hybridize();
  add_one(
      calls, [&](const Tensor& x) { return net(x); }, recorded);
}

/// A training step as three calls: the recorded loss, backward and the update.
void train(int calls) {
  nn::HybridSequential net = perceptron();
  net.hybridize();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1F});
  loss::SoftmaxCrossEntropyLoss loss;
  const Tensor x = ones({2, 8}), labels = zeros({2});
  for (int i = 0; i < calls; ++i) {
    Tensor l;
    {
      const autograd::Record record;
      l = loss(net(x), labels);
    }
    l.backward();
    trainer.step(2);
  }
}

void train_in_one_call(int calls) {
  nn::HybridSequential net = perceptron();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1F});
  loss::SoftmaxCrossEntropyLoss loss;
  const Tensor x = ones({2, 8}), labels = zeros({2});
  TrainStep step = net.train_step(loss, trainer);
  for (int i = 0; i < calls; ++i) step({x}, labels);
}

const auto plus_one = [](const Tensor& x) { return x + 1; };

const std::map<std::string, void (*)(int)> kinds{
    {"eager", [](int calls) { add_one(calls, plus_one, false); }},
    {"eager_recorded", [](int calls) { add_one(calls, plus_one, true); }},
    {"eager_block", [](int calls) { add_one_by_block(calls, false, false); }},
    {"hybridized", [](int calls) { add_one_by_block(calls, true, false); }},
    {"hybridized_two_inputs", multiply_add},
    {"hybridized_recorded", [](int calls) { add_one_by_block(calls, true, true); }},
    {"bound",
     [](int calls) {
       AddOne net;
       net.hybridize();
       BoundCall call = net.bind({ones({1})});
       for (int i = 0; i < calls; ++i) call();
     }},
    {"training", train},
    {"training_in_one_call", train_in_one_call},
};

}  // namespace

int main(int argc, char** argv) {
  const auto kind = argc == 3 ? kinds.find(argv[1]) : kinds.end();
  if (kind == kinds.end()) {
    std::fprintf(stderr, "usage: calls KIND N\n");
    return 2;
  }
  const ThreadLimit limit(1);
  kind->second(std::atoi(argv[2]));
}
