// Scopes of the training mode within hybrid_forward.
#include "function_net.h"

using namespace kiln;

namespace {

constexpr const char* reason =
    "an operator of it depends on training mode, and runs in a scope that changes the mode";

/// The reason why a hybridized call runs eagerly, after a check of its bits; empty if it is compiled.
std::string eager_because(const Net::Body& body, const Tensors& in) {
  everywhere(body, in);
  Net net(body);
  net.hybridize();
  net(in);
  return net.compiled_calls().at(0).eager_because;
}

Tensors dropped(F& f, const Tensors& in) { return {f.Dropout(in[0], {.p = 0.5})}; }

}  // namespace

TEST_CASE("a scope that changes the mode of an operator") {
  const Tensor x = ones({40});
  const auto in_training = [](F& f, const Tensors& in) {
    const autograd::TrainMode train;
    return dropped(f, in);
  };
  const auto in_prediction = [](F& f, const Tensors& in) {
    const autograd::PredictMode predict;
    return dropped(f, in);
  };
  CHECK(eager_because(in_training, {x}) == reason);
  CHECK(eager_because(in_prediction, {x}).empty());
  const autograd::TrainMode train;
  CHECK(eager_because(in_training, {x}).empty());
  CHECK(eager_because(in_prediction, {x}) == reason);
  CHECK(same_bits(everywhere(in_prediction, {x})[0], x));
}

TEST_CASE("operators without a mode, in a scope that changes it") {
  const auto body = [](F& f, const Tensors& in) {
    const autograd::TrainMode train;
    return Tensors{f.relu(in[0]) * 2};
  };
  CHECK(eager_because(body, {ones({5})}).empty());
}

TEST_CASE("statistics that Pause freezes while a network trains") {
  struct Frozen : HybridBlock {
    nn::BatchNorm first, second;
    Frozen() : HybridBlock({.prefix = "frozen_"}) {
      register_child(first, "first");
      register_child(second, "second");
    }
    Tensors hybrid_forward(F&, const Tensors& in) override {
      Tensor y;
      {
        const autograd::Pause pause;
        y = first(in[0]);
      }
      return {second(y + in[0])};
    }
  };
  random::seed(7);
  const Tensor x = random::normal(3, 2, {6, 4, 5, 5});
  std::vector<Tensors> all;
  for (const bool hybrid : {false, true}) {
    Frozen net;
    net.initialize();
    if (hybrid) net.hybridize();
    Tensor data = x.copy();
    data.attach_grad();
    Tensor y;
    for (int step = 0; step < 2; ++step) {
      {
        const autograd::Record recording;
        y = net(data);
      }
      y.backward();
    }
    all.push_back({y, data.grad(), net.first.running_mean.data(), net.second.running_mean.data()});
  }
  for (std::size_t i = 0; i < all[0].size(); ++i) CHECK(same_bits(all[0][i], all[1][i]));
  CHECK(same_bits(all[1][2], zeros({4})));
}

TEST_CASE("a loop within such a scope, and such a scope within a loop") {
  const Tensors in{ones({3, 8})};
  const auto around = [](F& f, const Tensors& x) {
    const autograd::TrainMode train;
    const auto step = [&](const Tensors& row, const Tensors& states) {
      return F::contrib::Results{dropped(f, row), states};
    };
    return f.contrib().foreach (step, x, {}).outputs;
  };
  const auto inside = [](F& f, const Tensors& x) {
    const auto step = [&](const Tensors& row, const Tensors& states) {
      const autograd::TrainMode train;
      return F::contrib::Results{dropped(f, row), states};
    };
    return f.contrib().foreach (step, x, {}).outputs;
  };
  CHECK(eager_because(around, in) == reason);
  CHECK(eager_because(inside, in) == reason);
}
