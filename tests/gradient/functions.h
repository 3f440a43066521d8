// Functions that define their gradient, and comparisons of gradients in all modes.
#pragma once
#include "function_net.h"

/// Functions with a gradient of the program's own, and comparisons of gradients in all modes.
namespace functions {

using namespace kiln;
using autograd::Function;

/// Rounds; its gradient is the identity's.
struct StraightThrough : Function {
  Tensors forward(const Tensors& x) override { return {F::round(x[0])}; }
  Tensors backward(const Tensors& dy) override { return dy; }
};

/// The identity; its gradient is the other way round.
struct Reverse : Function {
  explicit Reverse(double factor) : factor_(factor) {}
  Tensors forward(const Tensors& x) override { return x; }
  Tensors backward(const Tensors& dy) override { return {dy[0] * -factor_}; }
  double factor_;
};

/// log(1 + exp(x)), whose gradient is finite everywhere. Keeps an intermediate value.
struct Log1pExp : Function {
  Tensors forward(const Tensors& x) override {
    e_ = F::exp(x[0]);
    return {F::log(1 + e_)};
  }
  Tensors backward(const Tensors& dy) override { return {dy[0] * (1 - 1 / (1 + e_))}; }
  Tensor e_;
};

/// Keeps its result.
struct Sigmoid : Function {
  Tensors forward(const Tensors& x) override { return {y_ = 1 / (1 + F::exp(-x[0]))}; }
  Tensors backward(const Tensors& dy) override { return {dy[0] * y_ * (1 - y_)}; }
  Tensor y_;
};

/// x * y and x + w, with a gradient for x and y and none for w. Keeps its inputs.
struct Several : Function {
  Tensors forward(const Tensors& in) override {
    in_ = in;
    return {in[0] * in[1], in[0] + in[2]};
  }
  Tensors backward(const Tensors& dy) override {
    return {dy[0] * in_[1] + dy[1] * 3, dy[0] * in_[0], Tensor()};
  }
  Tensors in_;
};

inline Tensor ramp(const Shape& shape, double low, double step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(static_cast<float>(low + step * static_cast<double>(i)));
  return Tensor(values, shape);
}

/// How a body runs.
struct Mode {
  bool hybridized = false;
  Recompute recompute = Recompute::cheap;
  int threads = 1;
  bool second = false;  ///< also the gradients of the first gradients
};

struct Outcome {
  Tensors outputs, gradients;
};

/// Outputs of a network, and gradients of its inputs for heads that are no constants.
inline Outcome run(Net& net, const Tensors& inputs, const Mode& mode) {
  const ThreadLimit limit(mode.threads);
  random::seed(3);
  Tensors x;
  for (const Tensor& t : inputs) {
    x.push_back(t.copy());
    if (is_floating(t.dtype())) x.back().attach_grad();
  }
  Outcome outcome;
  const autograd::Record record;
  outcome.outputs = net(x);
  Tensors heads, weights;
  for (const Tensor& y : outcome.outputs) {
    if (!autograd::is_recorded(y)) continue;
    heads.push_back(y);
    const autograd::Pause pause;
    weights.push_back(ramp(y.shape(), 0.25, 0.375).astype(y.dtype()));
  }
  if (mode.second) {
    outcome.gradients =
        autograd::grad(heads, x, {.head_gradients = weights, .retain_graph = true, .create_graph = true});
    Tensor sum;
    for (const Tensor& g : outcome.gradients) sum = sum.defined() ? sum + F::sum(g * g) : F::sum(g * g);
    sum.backward();
  } else {
    autograd::backward(heads, weights);
  }
  for (const Tensor& t : x)
    if (is_floating(t.dtype())) outcome.gradients.push_back(t.grad().copy());
  return outcome;
}

inline Outcome run(const Net::Body& body, const Tensors& inputs, const Mode& mode = {}) {
  Net net(body);
  if (mode.hybridized) net.hybridize({.recompute = mode.recompute});
  return run(net, inputs, mode);
}

inline void check_same(const Outcome& a, const Outcome& b) {
  REQUIRE(a.outputs.size() == b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) CHECK(same_bits(a.outputs[i], b.outputs[i]));
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    INFO("gradient " << i);
    CHECK(same_bits(a.gradients[i], b.gradients[i]));
  }
}

/// The eager outcome, after a check that compiled calls have its bits, whatever they save. A second call
/// knows which outputs get a gradient.
inline Outcome in_all_modes(const Net::Body& body, const Tensors& inputs, bool second = false) {
  const Outcome eager = run(body, inputs, {.second = second});
  check_same(eager, run(body, inputs, {.threads = 2, .second = second}));
  for (const Recompute policy : {Recompute::none, Recompute::cheap, Recompute::all, Recompute::blocks}) {
    Net net(body);
    net.hybridize({.recompute = policy});
    for (const int threads : {1, 2}) {
      INFO("policy " << static_cast<int>(policy) << ", " << threads << " threads");
      check_same(eager, run(net, inputs, {true, policy, threads, second}));
    }
    CHECK(net.compiled_calls().at(0).compiled);
  }
  return eager;
}

}  // namespace functions
