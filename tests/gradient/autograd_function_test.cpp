// autograd::Function: gradients that the program writes, eagerly and traced.
#include "functions.h"
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

using namespace kiln;
using namespace functions;
using golden::error_of;

TEST_CASE("a straight-through estimator passes its head", "[function]") {
  const Tensor x = ramp({2, 3}, -1.7, 0.6);
  const auto body = [](F&, const Tensors& in) { return autograd::apply<StraightThrough>(in); };
  CHECK(same_bits(run(body, {x}).outputs[0], F::round(x)));
  CHECK(same_bits(run(body, {x}).gradients[0], ramp({2, 3}, 0.25, 0.375)));
  in_all_modes(body, {x});
}

TEST_CASE("a gradient reversal passes the negative head", "[function]") {
  const Tensor x = ramp({5}, 1, 1);
  const auto body = [](F&, const Tensors& in) {
    return Tensors{autograd::apply<Reverse>({in[0] * 2}, 0.5)[0] * 3};
  };
  CHECK(same_bits(run(body, {x}).gradients[0], ramp({5}, 0.25, 0.375) * -3));
  in_all_modes(body, {x});
}

TEST_CASE("log(1 + exp(x)) has a finite gradient", "[function]") {
  const Tensor x(std::vector<float>{-100, -1, 0, 1, 100}, {5});
  const auto body = [](F&, const Tensors& in) { return autograd::apply<Log1pExp>({in[0]}); };
  for (const float g : run(body, {x}).gradients[0].to_vector<float>()) CHECK(std::isfinite(g));
  in_all_modes(body, {x});
}

TEST_CASE("several inputs and results, and an input without a gradient", "[function]") {
  const Tensors in{ramp({2, 2}, 1, 1), ramp({2, 2}, -3, 0.5), ramp({2, 2}, 0, 1)};
  const auto body = [](F&, const Tensors& x) { return autograd::apply<Several>(x); };
  const Outcome got = run(body, in);
  const Tensor h = ramp({2, 2}, 0.25, 0.375);
  CHECK(same_bits(got.gradients[0], h * in[1] + h * 3));
  CHECK(same_bits(got.gradients[1], h * in[0]));
  CHECK(same_bits(got.gradients[2], F::zeros({2, 2})));
  in_all_modes(body, in);
  // One value as two inputs; one result alone.
  in_all_modes(
      [](F&, const Tensors& x) {
        return Tensors{autograd::apply<Several>({x[0], x[0], x[0]})[0]};
      },
      {in[0]});
}

TEST_CASE("a function stands among other operators, and twice in one block", "[function]") {
  in_all_modes(
      [](F&, const Tensors& x) {
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
  in_all_modes([](F&, const Tensors& x) { return autograd::apply<Outer>({x[0]}); }, {ramp({7}, -2, 0.6)});
}

TEST_CASE("derivatives of a gradient go through what the function kept of inputs and results", "[function]") {
  const Tensor x = ramp({6}, -2, 0.7);
  const auto body = [](F&, const Tensors& in) { return autograd::apply<Sigmoid>({in[0]}); };
  const Outcome got = in_all_modes(body, {x}, true);
  // g = h s (1 - s); d(sum g^2)/dx = 2 g h s (1 - s) (1 - 2 s)
  const auto s = (1 / (1 + F::exp(-x))).to_vector<double>(), h = ramp({6}, 0.25, 0.375).to_vector<double>(),
             d = got.gradients[1].to_vector<double>();
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double slope = s[i] * (1 - s[i]);
    CHECK(d[i] == Approx(2 * h[i] * slope * h[i] * slope * (1 - 2 * s[i])).margin(1e-6));
  }
  in_all_modes(body, {x}, true);
  in_all_modes(
      [](F&, const Tensors& in) {
        return autograd::apply<Several>({in[0] * 2, F::exp(in[1]), in[0]});
      },
      {ramp({4}, 1, 1), ramp({4}, -1, 0.5)}, true);
  // An intermediate value is a constant in both modes.
  in_all_modes([](F&, const Tensors& in) { return autograd::apply<Log1pExp>({F::tanh(in[0])}); }, {x}, true);
}

TEST_CASE("a pass that makes a graph leaves the result of a function in it", "[function]") {
  const Net::Body bodies[] = {[](F&, const Tensors& in) { return autograd::apply<Sigmoid>(in); },
                              [](F&, const Tensors& in) { return autograd::apply<Log1pExp>(in); }};
  const auto first_and_second = [](const Net::Body& body, bool hybrid) {
    Net net(body);
    if (hybrid) net.hybridize();
    Tensor x = ramp({4}, -1, 0.5);
    x.attach_grad();
    const autograd::Record record;
    const Tensor y = net({x})[0];
    const Tensor g = autograd::grad({y}, {x}, {.create_graph = true})[0];
    CHECK(autograd::is_recorded(y));
    autograd::backward({y * y});
    return x.grad();
  };
  for (const Net::Body& body : bodies)
    CHECK(same_bits(first_and_second(body, false), first_and_second(body, true)));
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
  in_all_modes(
      [](F&, const Tensors& x) {
        return Tensors{autograd::apply<Noise>({x[0]})[0] + F::random::uniform(0, 1, {4})};
      },
      {ramp({4}, 1, 1)});
  struct Noisy : Function {
    Tensors forward(const Tensors& x) override { return {x[0] * 2}; }
    Tensors backward(const Tensors& dy) override { return {dy[0] * F::random::uniform(0, 1, {4})}; }
  };
  const auto noisy = [](F&, const Tensors& x) { return autograd::apply<Noisy>({x[0]}); };
  check_same(run(noisy, {ramp({4}, 1, 1)}), run(noisy, {ramp({4}, 1, 1)}, {.hybridized = true}));
}

TEST_CASE("outside of Record a function is its forward", "[function]") {
  const Tensor x = ramp({4}, -1, 1);
  const Tensor y = autograd::apply<Sigmoid>({x})[0];
  CHECK_FALSE(autograd::is_recorded(y));
  CHECK(same_bits(y, 1 / (1 + F::exp(-x))));
  // The result is a separate array, whatever forward returns.
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
      {[](F&, const Tensors& in) {
         return autograd::apply<Few>({in[0], in[0]});
       },
       "returned 1 gradient for 2 inputs"},
      {[](F&, const Tensors& in) { return autograd::apply<Shaped>({in[0]}); },
       "as the gradient of input 0, which is"},
      {[](F&, const Tensors& in) { return autograd::apply<Typed>({in[0]}); }, "float16"},
      {[](F&, const Tensors& in) { return autograd::apply<Nothing>({in[0]}); }, "returned no array"},
      {[](F&, const Tensors& in) { return autograd::apply<Undefined>({in[0]}); }, "is an undefined Tensor"},
      {[](F&, const Tensors& in) { return autograd::apply<Writes>({in[0]}); },
       "forward of a Function writes into"},
      {[](F&, const Tensors& in) { return autograd::apply<WritesHead>({in[0]}); },
       "backward of a Function writes into"},
      {[](F&, const Tensors& in) {
         const auto f = std::make_shared<Sigmoid>();
         return Tensors{(*f)({in[0]})[0] + (*f)({in[0]})[0]};
       },
       "is one call"},
  };
  for (const auto& [body, expected] : mistakes)
    for (const bool hybridized : {false, true}) {
      const std::string error = error_of([&, &b = body] { run(b, {x}, {.hybridized = hybridized}); });
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
  const auto body = [](F&, const Tensors& in) { return autograd::apply<Reads>({in[0]}); };
  const Tensor x = ramp({2, 2}, 1, 1);
  CHECK(same_bits(run(body, {x}).gradients[0], ramp({2, 2}, 0.25, 0.375)));
  const std::string error = error_of([&] { run(body, {x}, {.hybridized = true}); });
  INFO(error);
  CHECK(error.find("autograd_function_test.cpp:") != std::string::npos);
  CHECK(error.find("trac") != std::string::npos);
}

TEST_CASE("a block with a function is exported and read back", "[function]") {
  const Tensor x = ramp({2, 3}, -2, 0.7);
  Net net([](F&, const Tensors& in) {
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
