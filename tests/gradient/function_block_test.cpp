// autograd::Function in networks: captured values, loops and branches, blocks in blocks, training.
#include "check_same_bits.h"
#include "functions.h"
#include "golden_files.h"
#include "training_nets.h"

#include <catch2/catch.hpp>
#include <stdexcept>

using namespace kiln;
using namespace functions;
using Catch::Contains;
using golden::error_of;

namespace {

/// x * w, with a gradient for x alone.
struct Scaled : Function {
  explicit Scaled(Tensor w) : w_(std::move(w)) {}
  Tensors forward(const Tensors& x) override { return {x[0] * w_}; }
  Tensors backward(const Tensors& dy) override { return {dy[0] * w_}; }
  Tensor w_;
};

/// Scaled by a parameter.
class Scale : public HybridBlock {
 public:
  Scale() {
    weight = params().get("weight", {3});
    weight.initialize(init::Constant(1.5));
  }
  Parameter weight;

 protected:
  Tensor hybrid_forward(F&, const Tensor& x) override {
    return autograd::apply<Scaled>({x}, weight.data())[0];
  }
};

/// Dense layers with a function between them.
class Classifier : public HybridBlock {
 public:
  Classifier() {
    first_ = nn::Dense(24);
    second_ = nn::Dense(5);
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = autograd::apply<Log1pExp>({first_(x)})[0];
    return second_(autograd::apply<Sigmoid>({F.Dropout(y, {.p = 0.25})})[0] * y);
  }

 private:
  Child<nn::Dense> first_{this, "first"}, second_{this, "second"};
};

enum class Training { eager, hybridized, train_step };

/// Losses of four steps, then all parameters.
Tensors train(Training how, Recompute policy = Recompute::cheap) {
  random::seed(5);
  Classifier net;
  net.initialize(init::Xavier());
  loss::SoftmaxCrossEntropyLoss loss;
  const Tensor x = random::normal(0, 1, {7, 12}), label = random::randint(0, 5, {7});
  net(x);
  if (how != Training::eager) net.hybridize({.recompute = policy});
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.05});
  TrainStep step = net.train_step(loss, trainer);
  random::seed(23);
  Tensors out;
  for (int i = 0; i < 4; ++i) {
    Tensor l;
    if (how == Training::train_step) {
      l = step({x}, label);
      CHECK(step.compiled());
    } else {
      {
        const autograd::Record record;
        l = loss(net(x), label);
      }
      l.backward();
      trainer.step(7);
    }
    out.push_back(l);
  }
  for (const Parameter& p : net.collect_params()) out.push_back(p.data().copy());
  return out;
}

}  // namespace

TEST_CASE("a network with a function trains with the same bits in all modes", "[function]") {
  const Tensors eager = train(Training::eager);
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    for (const Recompute policy : {Recompute::none, Recompute::cheap, Recompute::all, Recompute::blocks}) {
      check_same_bits(eager, train(Training::hybridized, policy));
      check_same_bits(eager, train(Training::train_step, policy));
    }
  }
}

TEST_CASE("a recorded call saves what backward reads of forward, or computes it again", "[function]") {
  Tensor x = F::ones({1000});
  x.attach_grad();
  const auto saved = [&](Recompute policy) {
    Net net([](F&, const Tensors& in) { return autograd::apply<Log1pExp>({in[0]}); });
    net.hybridize({.recompute = policy});
    const autograd::Record record;
    net({x});
    return net.compiled_calls().at(0).saved_bytes;
  };
  CHECK(saved(Recompute::none) >= 1000 * sizeof(float));
  CHECK(saved(Recompute::all) == 0);
}

TEST_CASE("a captured parameter gets no gradient, and its calls alone no history", "[function]") {
  for (const bool hybridized : {false, true}) {
    INFO((hybridized ? "hybridized" : "eager"));
    Scale net;
    if (hybridized) net.hybridize();
    Tensor x = ramp({2, 3}, 1, 1);
    Tensor y;
    {
      const autograd::Record record;
      y = net(x);
    }
    CHECK_FALSE(autograd::is_recorded(y));
    CHECK_THAT(error_of([&] { y.backward(); }), Contains("it is not in a computational graph"));
    x.attach_grad();
    {
      const autograd::Record record;
      y = net(x);
    }
    y.backward();
    CHECK(same_bits(x.grad(), F::ones({2, 3}) * 1.5));
    Trainer trainer(net.collect_params(), "sgd");
    CHECK_THAT(error_of([&] { trainer.step(1); }), Contains("has not been updated by backward"));
    // The gradient of a gradient reaches what backward() reads.
    {
      const autograd::Record record;
      const Tensor g = autograd::grad({net(x)}, {x}, {.create_graph = true})[0];
      F::sum(g * g).backward();
    }
    CHECK(same_bits(net.weight.grad(), F::ones({3}) * 6));
  }
  Scale net;
  Trainer trainer(net.collect_params(), "sgd");
  loss::L2Loss loss;
  TrainStep step = net.train_step(loss, trainer);
  CHECK_THAT(error_of([&] {
               step({F::ones({2, 3})}, F::ones({2, 3}));
             }),
             Contains("it is not in a computational graph"));
}

TEST_CASE("a captured value that is computed is a constant of forward", "[function]") {
  const auto body = [](F&, const Tensors& in) {
    const Tensor w = F::exp(in[1]);
    const Tensor y = autograd::apply<Scaled>({in[0]}, w)[0];
    return Tensors{y, y * w};
  };
  const Tensors in{ramp({3}, 1, 1), ramp({3}, -1, 0.5)};
  in_all_modes(body, in);
  in_all_modes(body, in, true);
  // Nothing but it leads to the result.
  const auto constant = [](F&, const Tensors& x) {
    const Tensor y = autograd::apply<Scaled>({F::ones({3})}, x[0])[0];
    return Tensors{y, x[0] * y};
  };
  const Outcome got = in_all_modes(constant, {in[0]});
  CHECK(same_bits(got.gradients[0], ramp({3}, 0.25, 0.375) * got.outputs[0]));
}

TEST_CASE("hybridized blocks within one another", "[function]") {
  const Tensor x = ramp({4, 3}, -1, 0.2);
  const auto gradient = [&](bool inner, bool outer, Recompute policy) {
    auto child = std::make_shared<Scale>();
    if (inner) child->hybridize();
    Net net([&](F&, const Tensors& in) {
      return Tensors{(*child)(autograd::apply<Sigmoid>({(*child)(in[0])})[0])};
    });
    if (outer) net.hybridize({.recompute = policy});
    return run(net, {x}, {});
  };
  const Outcome eager = gradient(false, false, Recompute::cheap);
  functions::check_same(eager, gradient(true, false, Recompute::cheap));
  for (const Recompute policy : {Recompute::none, Recompute::cheap, Recompute::all, Recompute::blocks})
    functions::check_same(eager, gradient(true, true, policy));
}

TEST_CASE("a function calls a hybridized block", "[function]") {
  auto child = std::make_shared<Scale>();
  child->hybridize();
  struct Calls : Function {
    explicit Calls(std::shared_ptr<Scale> block) : block_(std::move(block)) {}
    Tensors forward(const Tensors& x) override { return {y_ = (*block_)(x[0])}; }
    Tensors backward(const Tensors& dy) override { return {(*block_)(dy[0]) * y_}; }
    std::shared_ptr<Scale> block_;
    Tensor y_;
  };
  const auto body = [&](F&, const Tensors& in) { return autograd::apply<Calls>({in[0]}, child); };
  in_all_modes(body, {ramp({4, 3}, -1, 0.2)});
  in_all_modes(body, {ramp({4, 3}, -1, 0.2)}, true);
}

TEST_CASE("a function in loops and branches", "[function]") {
  const auto loop = [](F&, const Tensors& x) {
    const auto r = F::contrib::foreach (
        [&](const Tensors& row, const Tensors& state) {
          const Tensor y = autograd::apply<Sigmoid>({row[0] + state[0]})[0];
          return F::contrib::Results{{y * x[1]}, {autograd::apply<Log1pExp>({y})[0]}};
        },
        {x[0]}, {x[1]});
    return Tensors{r.outputs[0], r.states[0]};
  };
  const auto repeat = [](F&, const Tensors& x) {
    const auto r = F::contrib::while_loop(
        [](const Tensors& v) { return F::sum(v[0]) < 20; },
        [&](const Tensors& v) {
          return F::contrib::Results{
              {}, {v[0] + autograd::apply<Several>({v[0], x[1], autograd::apply<Log1pExp>({v[0]})[0]})[1]}};
        },
        {x[0]}, 6);
    return Tensors{r.states[0]};
  };
  const auto branch = [](F&, const Tensors& x) {
    return F::contrib::cond(
        F::sum(x[0]) > 0,
        [&] {
          return autograd::apply<Several>({x[0], x[1], x[0]});
        },
        [&] {
          return Tensors{autograd::apply<Sigmoid>({x[0]})[0], autograd::apply<Reverse>({x[1]}, 2)[0]};
        });
  };
  in_all_modes(loop, {ramp({4, 3}, -2, 0.3), ramp({3}, 0.5, 0.25)});
  for (const double low : {-2.0, 0.5}) {
    in_all_modes(repeat, {ramp({3}, low, 0.25), ramp({3}, 0.5, 0.25)});
    in_all_modes(branch, {ramp({3}, low, 0.25), ramp({3}, 0.5, 0.25)});
  }
  // Second derivatives go through the steps of a recorded loop or branch.
  for (const auto& [body, in] :
       {std::pair<Net::Body, Tensors>{loop, {ramp({4, 3}, -2, 0.3), ramp({3}, 0.5, 0.25)}},
        {repeat, {ramp({3}, 0.5, 0.25), ramp({3}, 0.5, 0.25)}},
        {branch, {ramp({3}, 0.5, 0.25), ramp({3}, 0.5, 0.25)}}})
    in_all_modes(body, in, true);
}

TEST_CASE("results that are inputs, views of them, or one array twice", "[function]") {
  struct Same : Function {
    Tensors forward(const Tensors& in) override {
      in_ = in;
      return {in_[0], in_[0], in_[1]};
    }
    Tensors backward(const Tensors& dy) override { return {dy[0] * in_[0] + dy[1], dy[2] * in_[1]}; }
    Tensors in_;
  };
  struct Part : Function {
    Tensors forward(const Tensors& in) override {
      x_ = in[0];
      y_ = F::exp(x_);
      return {y_[0], y_.reshape({6}), x_[1]};
    }
    Tensors backward(const Tensors& dy) override {
      return {F::stack({dy[0], dy[2]}) * x_ + dy[1].reshape({2, 3}) * y_};
    }
    Tensor x_, y_;
  };
  const auto same = [](F&, const Tensors& in) { return autograd::apply<Same>({in[0] * 2, in[1]}); };
  const auto constant = [](F&, const Tensors& in) { return autograd::apply<Same>({F::ones({3}), in[0]}); };
  const auto part = [](F&, const Tensors& in) { return autograd::apply<Part>({in[0]}); };
  for (const bool second : {false, true}) {
    in_all_modes(same, {ramp({3}, 1, 1), ramp({2}, 1, 1)}, second);
    in_all_modes(constant, {ramp({3}, 1, 1)}, second);
    in_all_modes(part, {ramp({2, 3}, -1, 0.5)}, second);
  }
}

TEST_CASE("a gradient that reads constants alone is one", "[function]") {
  for (const bool hybridized : {false, true}) {
    Net net([](F&, const Tensors& in) { return autograd::apply<Log1pExp>({in[0]}); });
    if (hybridized) net.hybridize();
    CHECK_THAT(error_of([&] { run(net, {ramp({3}, 1, 1)}, {.second = true}); }),
               Contains("functions.h:") && Contains("it is not in a computational graph"));
  }
}

TEST_CASE("views of inputs and results that a function keeps", "[function]") {
  struct Views : Function {
    Tensors forward(const Tensors& in) override {
      row_ = in[0][1];
      y_ = F::exp(in[0]);
      last_ = y_[0];
      return {y_};
    }
    Tensors backward(const Tensors& dy) override {
      return {F::stack({dy[0][0] * last_ * y_[0], dy[0][1] * row_})};
    }
    Tensor row_, last_, y_;
  };
  const auto body = [](F&, const Tensors& in) { return autograd::apply<Views>({in[0]}); };
  for (const bool second : {false, true}) in_all_modes(body, {ramp({2, 3}, -1, 0.5)}, second);
}

TEST_CASE("integer inputs have no gradient", "[function]") {
  struct Pick : Function {
    Tensors forward(const Tensors& in) override {
      in_ = in;
      return {F::take(in[0], in[1]), in[1] + 1};
    }
    Tensors backward(const Tensors& dy) override {
      const Tensor hot = F::one_hot(in_[1], {.depth = 4});
      return {F::dot(hot, dy[0], {.transpose_a = true}), Tensor(std::vector<float>{1}, {1})};
    }
    Tensors in_;
  };
  const Tensor index = Tensor(std::vector<float>{2, 0, 2}, {3}).astype(DType::i32);
  const Outcome got = in_all_modes(
      [](F&, const Tensors& in) {
        return autograd::apply<Pick>({in[0], in[1]});
      },
      {ramp({4}, 1, 1), index});
  CHECK(got.outputs[1].dtype() == DType::i32);
  CHECK(got.gradients[0].to_vector<float>() == std::vector<float>{0.625f, 0, 1.25f, 0});
}

TEST_CASE("calls inside Pause, and recorded ones in prediction mode", "[function]") {
  struct Dropped : Function {
    Tensors forward(const Tensors& x) override { return {F::Dropout(x[0], {.p = 0.5})}; }
    Tensors backward(const Tensors& dy) override { return {dy[0] * (autograd::is_training() ? 2 : 3)}; }
  };
  const Tensor ones = F::ones({64});
  for (const bool hybridized : {false, true}) {
    Net net([](F&, const Tensors& in) { return autograd::apply<Dropped>({in[0]}); });
    if (hybridized) net.hybridize();
    Tensor x = ones.copy();
    x.attach_grad();
    const autograd::Record record(/*train=*/false);
    {
      const autograd::Pause pause;
      CHECK_FALSE(autograd::is_recorded(net({x})[0]));
    }
    const Tensor y = net({x})[0];
    CHECK(same_bits(y, ones));
    y.backward({}, {.train = false});
    CHECK(same_bits(x.grad(), ones * 3));
    const autograd::TrainMode train;
    const Tensor z = net({x})[0];
    CHECK_FALSE(same_bits(z, ones));
    z.backward();
    CHECK(same_bits(x.grad(), ones * 2));
  }
}

TEST_CASE("errors that a function throws leave the tape as it was", "[function]") {
  struct Throws : Function {
    Throws(const bool& forward, const bool& backward) : forward_(forward), backward_(backward) {}
    Tensors forward(const Tensors& x) override {
      if (forward_) throw std::runtime_error("no forward");
      return {x[0] * 2};
    }
    Tensors backward(const Tensors& dy) override {
      if (backward_) throw std::runtime_error("no backward");
      return {dy[0] * 2};
    }
    const bool &forward_, &backward_;
  };
  for (const bool hybridized : {false, true}) {
    bool in_forward = true, in_backward = true;
    Net net([&](F&, const Tensors& in) { return autograd::apply<Throws>({in[0]}, in_forward, in_backward); });
    if (hybridized) net.hybridize();
    Tensor x = F::ones({3});
    x.attach_grad();
    const autograd::Record record;
    CHECK_THROWS_WITH(net({x}), "no forward");
    in_forward = false;
    if (hybridized) CHECK_THROWS_WITH(net({x}), "no backward");
    in_backward = hybridized ? false : true;
    const Tensor y = net({x})[0];
    if (!hybridized) CHECK_THROWS_WITH(y.backward(), "no backward");
    in_backward = false;
    y.backward();
    CHECK(same_bits(x.grad(), F::ones({3}) * 2));
  }
}
