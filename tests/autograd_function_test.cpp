// autograd::Function: gradients that the program writes, eagerly and traced.
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <functional>

using namespace kiln;
using autograd::Function;
using Tensors = std::vector<Tensor>;

namespace {

/// Rounds; its gradient is that of the identity.
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

Tensor ramp(const Shape& shape, double low, double step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(static_cast<float>(low + step * static_cast<double>(i)));
  return Tensor(values, shape);
}

/// A network of one function of tensors.
class Net : public HybridBlock {
 public:
  using Body = std::function<Tensors(const Tensors&)>;
  explicit Net(Body body) : HybridBlock(BlockOptions{}, "net"), body_(std::move(body)) {}

 protected:
  Tensors hybrid_forward(F&, const Tensors& inputs) override { return body_(inputs); }

 private:
  Body body_;
};

struct Outcome {
  Tensors outputs, gradients;
};

/// Outputs, and gradients of the inputs for heads that are no constants; `second`: also of the first
/// gradients.
Outcome run(const Net::Body& body, const Tensors& inputs, bool hybridized, bool second = false) {
  random::seed(3);
  Net net(body);
  if (hybridized) net.hybridize();
  Tensors x;
  for (const Tensor& t : inputs) {
    x.push_back(t.copy());
    x.back().attach_grad();
  }
  Outcome outcome;
  const autograd::Record record;
  outcome.outputs = net(x);
  Tensors heads, weights;
  for (const Tensor& y : outcome.outputs) {
    if (!autograd::is_recorded(y)) continue;
    heads.push_back(y);
    const autograd::Pause pause;
    weights.push_back(ramp(y.shape(), 0.25, 0.375));
  }
  if (second) {
    const Tensors first =
        autograd::grad(heads, x, {.head_gradients = weights, .retain_graph = true, .create_graph = true});
    for (const Tensor& g : first) outcome.gradients.push_back(g);
    Tensor sum = F::sum(first[0] * first[0]);
    for (std::size_t i = 1; i < first.size(); ++i) sum = sum + F::sum(first[i] * first[i]);
    sum.backward();
  } else {
    autograd::backward(heads, weights);
  }
  for (const Tensor& t : x) outcome.gradients.push_back(t.grad().copy());
  return outcome;
}

void check_equal(const Net::Body& body, const Tensors& inputs, bool second = false) {
  const Outcome a = run(body, inputs, false, second), b = run(body, inputs, true, second);
  REQUIRE(a.outputs.size() == b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) CHECK(same_bits(a.outputs[i], b.outputs[i]));
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    INFO("gradient " << i);
    CHECK(same_bits(a.gradients[i], b.gradients[i]));
  }
}

Tensor gradient(const Net::Body& body, const Tensor& x) { return run(body, {x}, false).gradients[0]; }

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a straight-through estimator passes its head", "[function]") {
  const Tensor x = ramp({2, 3}, -1.7, 0.6);
  const auto body = [](const Tensors& in) { return autograd::apply<StraightThrough>(in); };
  CHECK(same_bits(run(body, {x}, false).outputs[0], F::round(x)));
  CHECK(same_bits(gradient(body, x), ramp({2, 3}, 0.25, 0.375)));
  check_equal(body, {x});
}

TEST_CASE("a gradient reversal passes the negative head", "[function]") {
  const Tensor x = ramp({5}, 1, 1);
  const auto body = [](const Tensors& in) {
    return Tensors{autograd::apply<Reverse>({in[0] * 2}, 0.5)[0] * 3};
  };
  CHECK(same_bits(gradient(body, x), ramp({5}, 0.25, 0.375) * -3));
  check_equal(body, {x});
}

TEST_CASE("log(1 + exp(x)) has a finite gradient", "[function]") {
  const Tensor x(std::vector<float>{-100, -1, 0, 1, 100}, {5});
  const auto body = [](const Tensors& in) { return autograd::apply<Log1pExp>({in[0]}); };
  for (const float g : gradient(body, x).to_vector<float>()) CHECK(std::isfinite(g));
  check_equal(body, {x});
}

TEST_CASE("several inputs and results, and an input without a gradient", "[function]") {
  const Tensors in{ramp({2, 2}, 1, 1), ramp({2, 2}, -3, 0.5), ramp({2, 2}, 0, 1)};
  const auto body = [](const Tensors& x) { return autograd::apply<Several>(x); };
  const Outcome got = run(body, in, false);
  const Tensor h = ramp({2, 2}, 0.25, 0.375);
  CHECK(same_bits(got.gradients[0], h * in[1] + h * 3));
  CHECK(same_bits(got.gradients[1], h * in[0]));
  CHECK(same_bits(got.gradients[2], F::zeros({2, 2})));
  check_equal(body, in);
  // One value as two inputs; one result alone.
  check_equal(
      [](const Tensors& x) {
        return Tensors{autograd::apply<Several>({x[0], x[0], x[0]})[0]};
      },
      {in[0]});
}

TEST_CASE("a function stands among other operators, and twice in one block", "[function]") {
  check_equal(
      [](const Tensors& x) {
        const Tensor y = autograd::apply<Sigmoid>({x[0] * 2})[0];
        const Tensor z = autograd::apply<Sigmoid>({y + x[0]})[0];
        return Tensors{z * y, autograd::apply<Log1pExp>({z})[0] + F::tanh(y)};
      },
      {ramp({3, 5}, -2, 0.3)});
}

TEST_CASE("a function within another one", "[function]") {
  struct Outer : Function {
    Tensors forward(const Tensors& x) override { return {autograd::apply<Sigmoid>({x[0]})[0] * x[0]}; }
    Tensors backward(const Tensors& dy) override { return {autograd::apply<Reverse>({dy[0]}, 1)[0]}; }
  };
  check_equal([](const Tensors& x) { return autograd::apply<Outer>({x[0]}); }, {ramp({7}, -2, 0.6)});
}

TEST_CASE("a function in the body of a loop", "[function]") {
  check_equal(
      [](const Tensors& x) {
        const auto r = F::contrib::foreach (
            [&](const Tensors& row, const Tensors& state) {
              const Tensor y = autograd::apply<Sigmoid>({row[0] + state[0]})[0];
              return F::contrib::Results{{y * x[1]}, {autograd::apply<Log1pExp>({y})[0]}};
            },
            {x[0]}, {x[1]});
        return Tensors{r.outputs[0], r.states[0]};
      },
      {ramp({4, 3}, -2, 0.3), ramp({3}, 0.5, 0.25)});
}

TEST_CASE("derivatives of a gradient go through what the function kept of inputs and results", "[function]") {
  const Tensor x = ramp({6}, -2, 0.7);
  const auto body = [](const Tensors& in) { return autograd::apply<Sigmoid>({in[0]}); };
  const Outcome got = run(body, {x}, false, true);
  // g = h s (1 - s); d(sum g^2)/dx = 2 g h s (1 - s) (1 - 2 s)
  const auto s = (1 / (1 + F::exp(-x))).to_vector<double>(), h = ramp({6}, 0.25, 0.375).to_vector<double>(),
             d = got.gradients[1].to_vector<double>();
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double slope = s[i] * (1 - s[i]);
    CHECK(d[i] == Approx(2 * h[i] * slope * h[i] * slope * (1 - 2 * s[i])).margin(1e-6));
  }
  check_equal(body, {x}, true);
  check_equal(
      [](const Tensors& in) {
        return autograd::apply<Several>({in[0] * 2, F::exp(in[1]), in[0]});
      },
      {ramp({4}, 1, 1), ramp({4}, -1, 0.5)}, true);
  // An intermediate value is a constant in both modes.
  check_equal([](const Tensors& in) { return autograd::apply<Log1pExp>({F::tanh(in[0])}); }, {x}, true);
}

TEST_CASE("a write to an input or result after the call changes no gradient", "[function]") {
  Tensor x = ramp({4}, 1, 1), w = ramp({4}, 2, 1);
  x.attach_grad();
  Tensor first, second;
  {
    const autograd::Record record;
    const Tensor v = w * 1;
    Tensor y = autograd::apply<Several>({x, v, v})[0], z = autograd::apply<Sigmoid>({x})[0];
    first = y * 1;
    second = z * 1;
    const autograd::Pause pause;
    y[Slice()] = 0;
    z[Slice()] = 0;
    x[Slice()] = 100;
  }
  autograd::backward({second});
  const Tensor s = 1 / (1 + F::exp(-ramp({4}, 1, 1)));
  CHECK(same_bits(x.grad(), s * (1 - s)));
  autograd::backward({first});
  CHECK(same_bits(x.grad(), w));
}

TEST_CASE("a function draws the same numbers in both modes", "[function]") {
  struct Noise : Function {
    Tensors forward(const Tensors& x) override {
      mask_ = F::random::uniform(0, 1, {4}) > 0.5;
      return {x[0] * mask_};
    }
    Tensors backward(const Tensors& dy) override { return {dy[0] * mask_}; }
    Tensor mask_;
  };
  check_equal(
      [](const Tensors& x) {
        return Tensors{autograd::apply<Noise>({x[0]})[0] + F::random::uniform(0, 1, {4})};
      },
      {ramp({4}, 1, 1)});
  struct Noisy : Function {
    Tensors forward(const Tensors& x) override { return {x[0] * 2}; }
    Tensors backward(const Tensors& dy) override { return {dy[0] * F::random::uniform(0, 1, {4})}; }
  };
  check_equal([](const Tensors& x) { return autograd::apply<Noisy>({x[0]}); }, {ramp({4}, 1, 1)});
}

TEST_CASE("outside of Record a function is its forward", "[function]") {
  const Tensor x = ramp({4}, -1, 1);
  const Tensor y = autograd::apply<Sigmoid>({x})[0];
  CHECK_FALSE(autograd::is_recorded(y));
  CHECK(same_bits(y, 1 / (1 + F::exp(-x))));
  // The result is an array of its own, whatever forward returns.
  Tensor z = autograd::apply<Reverse>({x}, 1)[0];
  z += 1;
  CHECK(same_bits(x, ramp({4}, -1, 1)));
}

TEST_CASE("a function that lives on the stack works until it goes", "[function]") {
  Tensor x = ramp({4}, -1, 1);
  x.attach_grad();
  {
    Sigmoid f;
    Tensor y;
    {
      const autograd::Record record;
      y = f({x})[0];
    }
    y.backward();
  }
  Tensor y;
  {
    const autograd::Record record;
    Sigmoid f;
    y = f({x})[0];
  }
  const std::string error = error_of([&] { y.backward(); });
  CHECK(error.find("autograd_function_test.cpp:") == 0);
  CHECK(error.find("is gone before its backward pass") != std::string::npos);
}

TEST_CASE("what a function keeps is freed with the tape", "[function]") {
  const std::size_t before = memory_report().live_bytes;
  {
    Tensor x = F::ones({1000});
    x.attach_grad();
    const autograd::Record record;
    const Tensor y = autograd::apply<Sigmoid>({x})[0];
    const Tensor z = autograd::apply<Several>({y, x, y})[0];
    z.backward({}, {.retain_graph = true});
    (void)autograd::grad({z}, {x}, {.create_graph = true});
  }
  CHECK(memory_report().live_bytes == before);
}

TEST_CASE("mistakes in a function are errors with the line of its call", "[function]") {
  struct Few : Function {
    Tensors forward(const Tensors& x) override { return {x[0] * x[1]}; }
    Tensors backward(const Tensors& dy) override { return dy; }
  };
  struct Shaped : Function {
    Tensors forward(const Tensors& x) override { return {F::sum(x[0])}; }
    Tensors backward(const Tensors& dy) override { return dy; }
  };
  struct Typed : Function {
    Tensors forward(const Tensors& x) override { return {x[0] * 2}; }
    Tensors backward(const Tensors& dy) override { return {dy[0].astype(DType::f16)}; }
  };
  struct Nothing : Function {
    Tensors forward(const Tensors&) override { return {}; }
    Tensors backward(const Tensors& dy) override { return dy; }
  };
  struct Undefined : Function {
    Tensors forward(const Tensors&) override { return {Tensor()}; }
    Tensors backward(const Tensors& dy) override { return dy; }
  };
  struct Writes : Function {
    Tensors forward(const Tensors& x) override {
      Tensor y = x[0];
      y += 1;
      return {y};
    }
    Tensors backward(const Tensors& dy) override { return dy; }
  };
  struct WritesHead : Function {
    Tensors forward(const Tensors& x) override { return {x[0] * 2}; }
    Tensors backward(const Tensors& dy) override {
      Tensor g = dy[0];
      g *= 2;
      return {g};
    }
  };
  const Tensor x = ramp({2, 2}, 1, 1);
  const std::pair<Net::Body, std::string> mistakes[] = {
      {[](const Tensors& in) {
         return autograd::apply<Few>({in[0], in[0]});
       },
       "returned 1 gradient for 2 inputs"},
      {[](const Tensors& in) { return autograd::apply<Shaped>({in[0]}); },
       "as the gradient of input 0, which is"},
      {[](const Tensors& in) { return autograd::apply<Typed>({in[0]}); }, "float16"},
      {[](const Tensors& in) { return autograd::apply<Nothing>({in[0]}); }, "returned no array"},
      {[](const Tensors& in) { return autograd::apply<Undefined>({in[0]}); }, "is an undefined Tensor"},
      {[](const Tensors& in) { return autograd::apply<Writes>({in[0]}); },
       "forward of a Function writes into"},
      {[](const Tensors& in) { return autograd::apply<WritesHead>({in[0]}); },
       "backward of a Function writes into"},
      {[](const Tensors& in) {
         const auto f = std::make_shared<Sigmoid>();
         return Tensors{(*f)({in[0]})[0] + (*f)({in[0]})[0]};
       },
       "is one call"},
  };
  for (const auto& [body, expected] : mistakes)
    for (const bool hybridized : {false, true}) {
      const std::string error = error_of([&, &b = body] { run(b, {x}, hybridized); });
      INFO(error << (hybridized ? ", hybridized" : ", eager"));
      CHECK(error.find(expected) != std::string::npos);
      CHECK(error.find("autograd_function_test.cpp:") != std::string::npos);
    }
}

TEST_CASE("a function that reads values runs eagerly, and is an error while it is traced", "[function]") {
  struct Reads : Function {
    Tensors forward(const Tensors& x) override { return {x[0] * 2}; }
    Tensors backward(const Tensors& dy) override {
      return {F::sum(dy[0]).item<float>() > 0 ? dy[0] : dy[0] * 2};
    }
  };
  const auto body = [](const Tensors& in) { return autograd::apply<Reads>({in[0]}); };
  const Tensor x = ramp({2, 2}, 1, 1);
  CHECK(same_bits(gradient(body, x), ramp({2, 2}, 0.25, 0.375)));
  const std::string error = error_of([&] { run(body, {x}, true); });
  INFO(error);
  CHECK(error.find("autograd_function_test.cpp:") != std::string::npos);
  CHECK(error.find("trac") != std::string::npos);
}

TEST_CASE("a block with a function is exported and read back", "[function]") {
  const Tensor x = ramp({2, 3}, -2, 0.7);
  Net net([](const Tensors& in) {
    const Tensor y = autograd::apply<Sigmoid>({in[0] * 2})[0];
    return Tensors{autograd::apply<Log1pExp>({y})[0] * in[0]};
  });
  net.hybridize();
  (void)net({x});
  const std::string prefix = (std::filesystem::temp_directory_path() / "kiln_function").string();
  net.export_model(prefix);
  const auto gradient_of = [&](bool hybridized) {
    SymbolBlock read = SymbolBlock::imports(prefix + "-symbol.json", {"data"});
    if (hybridized) read.hybridize();
    Tensor in = x.copy();
    in.attach_grad();
    const autograd::Record record;
    read({in})[0].backward();
    return in.grad().copy();
  };
  Tensor in = x.copy();
  in.attach_grad();
  {
    const autograd::Record record;
    net({in})[0].backward();
  }
  CHECK(same_bits(gradient_of(false), in.grad()));
  CHECK(same_bits(gradient_of(true), in.grad()));
  std::filesystem::remove(prefix + "-symbol.json");
}
