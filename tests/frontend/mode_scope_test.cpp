// Scopes of the training mode within hybrid_forward.
#include "function_net.h"

using namespace kiln;

namespace {

/// The results of an eager call, after a check that calls are compiled and have its bits.
Tensors compiled_everywhere(const Net::Body& body, const Tensors& in) {
  CHECK(compiles(body, in));
  return everywhere(body, in);
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
  const auto both = [&](F& f, const Tensors& in) {
    return Tensors{in_training(f, in)[0] + in_prediction(f, in)[0] * 2, dropped(f, in)[0]};
  };
  for (const bool training : {false, true}) {
    const autograd::TrainMode mode(training);
    CHECK_FALSE(same_bits(compiled_everywhere(in_training, {x})[0], x));
    CHECK(same_bits(compiled_everywhere(in_prediction, {x})[0], x));
    const Tensors results = compiled_everywhere(both, {x});
    CHECK(same_bits(results[1], x) == !training);
  }
}

TEST_CASE("operators without a mode, in a scope that changes it") {
  const auto body = [](F& f, const Tensors& in) {
    const autograd::TrainMode train;
    return Tensors{f.relu(in[0]) * 2};
  };
  compiled_everywhere(body, {ones({5})});
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
  const auto against = [&](F& f, const Tensors& x) {
    const autograd::TrainMode train;
    const auto step = [&](const Tensors& row, const Tensors& states) {
      Tensors twice = dropped(f, row);
      const autograd::PredictMode predict;
      twice.push_back(dropped(f, row)[0]);
      return F::contrib::Results{twice, states};
    };
    return f.contrib().foreach (step, x, {}).outputs;
  };
  for (const bool training : {false, true}) {
    const autograd::TrainMode mode(training);
    for (const auto& body : {Net::Body(around), Net::Body(inside)})
      CHECK_FALSE(same_bits(compiled_everywhere(body, in)[0], in[0]));
    const Tensors results = compiled_everywhere(against, in);
    CHECK_FALSE(same_bits(results[0], in[0]));
    CHECK(same_bits(results[1], in[0]));
  }
}

TEST_CASE("the statistics of a BatchNorm that is trained or frozen by a scope") {
  struct Scoped : HybridBlock {
    nn::BatchNorm trained, frozen;
    Scoped() : HybridBlock({.prefix = "scoped_"}) {
      register_child(trained, "trained");
      register_child(frozen, "frozen");
    }
    Tensor hybrid_forward(F&, const Tensor& x) override {
      Tensor y;
      {
        const autograd::TrainMode train;
        y = trained(x);
      }
      const autograd::PredictMode predict;
      return frozen(y) + x;
    }
  };
  random::seed(7);
  const Tensor x = random::normal(3, 2, {6, 4, 5, 5});
  for (const bool training : {false, true}) {
    std::vector<Tensors> all;
    for (const bool hybrid : {false, true}) {
      Scoped net;
      net.initialize();
      if (hybrid) net.hybridize();
      const autograd::TrainMode mode(training);
      Tensors seen;
      for (int call = 0; call < 2; ++call) seen.push_back(net(x));
      if (hybrid) CHECK(net.compiled_calls().at(0).compiled);
      for (const Parameter& p : net.collect_params()) seen.push_back(p.data());
      all.push_back(seen);
    }
    for (std::size_t i = 0; i < all[0].size(); ++i) CHECK(same_bits(all[0][i], all[1][i]));
  }
}
