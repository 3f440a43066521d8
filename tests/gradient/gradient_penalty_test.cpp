// Derivatives of derivatives: gradients made by grad(create_graph), and backward passes through them.
#include "golden_files.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

using namespace kiln;
using golden::error_of;
using Floats = std::vector<float>;

namespace {

Tensor variable(std::vector<float> values, const Shape& shape) {
  Tensor x(values, shape);
  x.attach_grad();
  return x;
}
Floats floats(const Tensor& t) { return t.to_vector<float>(); }

/// f + 10 (|df/dx| - 1)^2, the mean over a batch, of a critic f.
Tensor penalized(HybridBlock& critic, const Tensor& x) {
  const Tensor score = critic(x);
  const Tensor g = autograd::grad({score}, {x}, {.create_graph = true})[0];
  const Tensor norm = F::sqrt(F::sum(g * g, {.axis = {1, 2, 3}}));
  return F::mean(score) + 10 * F::mean(F::square(norm - 1));
}

/// Convolutions with both poolings, and dense layers.
nn::HybridSequential critic() {
  nn::HybridSequential net;
  net.add(nn::Conv2D(5, {.kernel_size = 3, .padding = 1, .activation = "tanh", .in_channels = 2}),
          nn::MaxPool2D(), nn::Conv2D(4, {.kernel_size = 3, .in_channels = 5}), nn::Activation("softrelu"),
          nn::AvgPool2D(), nn::Dense(6, {.activation = "tanh", .in_units = 4 * 2 * 2}),
          nn::Dense(1, {.in_units = 6}));
  return net;
}
const Shape images{3, 2, 12, 12};

/// The loss, then the gradients of the input and of all parameters.
Tensors penalty_gradients(HybridBlock& net, const Tensor& images) {
  Tensor x = images.copy(), loss;
  x.attach_grad();
  {
    const autograd::Record record;
    loss = penalized(net, x);
  }
  loss.backward();
  Tensors all{loss, x.grad()};
  for (const Parameter& p : net.collect_params()) all.push_back(p.grad().copy());
  return all;
}

}  // namespace

TEST_CASE("derivatives of derivatives") {
  Tensor x = variable({2, 3}, {2});
  Tensor z;
  {
    const autograd::Record record;
    const Tensor y = x * x * x;
    const Tensor g = autograd::grad({y}, {x}, {.create_graph = true})[0];  // 3 x^2
    z = g * g;                                                             // 9 x^4
  }
  z.backward();
  CHECK(floats(x.grad()) == Floats{288, 972});
}

TEST_CASE("the parameters' gradients of a gradient penalty have the same bits eagerly and hybridized") {
  Tensors expected;
  for (const bool hybrid : {false, true})
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      random::seed(7);
      nn::HybridSequential net = critic();
      net.initialize(init::Xavier());
      if (hybrid) net.hybridize();
      const Tensor x = random::normal(0, 1, images);
      for (int step = 0; step < 2; ++step) {
        const Tensors got = penalty_gradients(net, x);
        if (expected.empty()) expected = got;
        REQUIRE(got.size() == expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          CAPTURE(hybrid, threads, step, i);
          CHECK(same_bits(got[i], expected[i]));
        }
      }
    }
}

TEST_CASE("the gradients of a gradient penalty are its derivatives") {
  random::seed(8);
  nn::HybridSequential net = critic();
  net.initialize(init::Xavier());
  net.cast(DType::f64);
  net.hybridize();
  const Tensor x = random::normal(0, 1, images).astype(DType::f64);
  const Tensors got = penalty_gradients(net, x);
  const std::vector<Parameter> parameters = net.collect_params().items();
  int moved = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    Parameter parameter = parameters[p];
    const std::vector<double> values = parameter.data().to_vector<double>(),
                              gradient = got[p + 2].to_vector<double>();
    for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 3) {
      const double h = 1e-5;
      double around[2];
      for (const int side : {0, 1}) {
        std::vector<double> changed = values;
        changed[i] += side ? h : -h;
        parameter.set_data(Tensor(changed, parameter.shape()));
        Tensor in = x.copy();
        in.attach_grad();
        const autograd::Record record;
        around[side] = penalized(net, in).item<double>();
      }
      parameter.set_data(Tensor(values, parameter.shape()));
      CAPTURE(parameter.name(), i);
      CHECK(gradient[i] == Approx((around[1] - around[0]) / (2 * h)).epsilon(1e-5).margin(1e-8));
      moved += gradient[i] != 0;
    }
  }
  CHECK(moved > 10);
}

TEST_CASE("a gradient penalty through BatchNorm and Dropout") {
  struct Critic : HybridBlock {
    Child<nn::Conv2D> conv{this, "conv"};
    Child<nn::BatchNorm> norm{this, "norm"};
    Child<nn::Dropout> drop{this, "drop"};
    Child<nn::Dense> out{this, "out"};
    Critic() {
      conv = nn::Conv2D(4, {.kernel_size = 3, .padding = 1});
      norm = nn::BatchNorm();
      drop = nn::Dropout(0.3f);
      out = nn::Dense(1);
    }
    Tensor hybrid_forward(F& F, const Tensor& x) override {
      const Tensor h = drop(F.tanh(norm(conv(x))));
      return out(h * h + h);
    }
  };
  std::vector<Tensor> first;
  for (const bool hybrid : {false, true}) {
    random::seed(5);
    Critic net;
    net.initialize(init::Normal(0.4));
    if (hybrid) net.hybridize();
    Tensor x = random::normal(0, 1, {3, 2, 5, 5});
    x.attach_grad();
    Tensor loss;
    {
      const autograd::Record record;
      const Tensor score = net(x);
      const Tensor g = autograd::grad({score}, {x}, {.create_graph = true})[0];
      loss = ((g * g).sum() - 1) * 10 + score.mean();
    }
    loss.backward();
    std::vector<Tensor> all{loss, x.grad()};
    for (const Parameter& p : net.collect_params()) {
      all.push_back(p.data());
      if (p.grad_req() != GradReq::null) all.push_back(p.grad());
    }
    if (!hybrid) first = all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      INFO("array " << i);
      CHECK(same_bits(all[i], first[i]));
    }
  }
  // Against differences of the penalty.
  random::seed(6);
  Critic net;
  net.initialize(init::Normal(0.4));
  net.cast(DType::f64);
  net.hybridize();
  const auto penalty = [&](const Tensor& x) {
    Tensor in = x.copy();
    in.attach_grad();
    const autograd::Record record(false);
    const Tensor g = autograd::grad({net(in)}, {in}, {.create_graph = true, .train = false})[0];
    return (g * g).sum();
  };
  Tensor x = random::normal(0, 1, {2, 2, 4, 4}).astype(DType::f64);
  net(x);
  x.attach_grad();
  Tensor value;
  {
    const autograd::Record record(false);
    const Tensor g = autograd::grad({net(x)}, {x}, {.create_graph = true, .train = false})[0];
    value = (g * g).sum();
  }
  value.backward();
  const std::vector<double> got = x.grad().to_vector<double>();
  for (const std::int64_t i : {0, 17, 40, 63}) {
    std::vector<double> values = x.to_vector<double>();
    const double h = 1e-5, at = values[static_cast<std::size_t>(i)];
    values[static_cast<std::size_t>(i)] = at + h;
    const double above = penalty(Tensor(values, x.shape())).item<double>();
    values[static_cast<std::size_t>(i)] = at - h;
    const double below = penalty(Tensor(values, x.shape())).item<double>();
    CHECK(got[static_cast<std::size_t>(i)] == Approx((above - below) / (2 * h)).epsilon(1e-5).margin(1e-8));
  }
}

TEST_CASE("a pass that makes a graph and retains nothing drops what it has passed") {
  for (const bool hybrid : {false, true}) {
    CAPTURE(hybrid);
    nn::HybridSequential net;
    net.add(nn::Dense(3, {.activation = "tanh", .in_units = 2}), nn::Dense(1, {.in_units = 3}));
    net.initialize(init::One());
    if (hybrid) net.hybridize();
    Tensor x = variable({1, 2}, {1, 2}), y, later;
    const auto live = [] { return memory_report().live_bytes; };
    {
      const autograd::Record record;
      net(x);
      y = net(x);
      later = x * x;
      autograd::grad({y}, {x}, {.retain_graph = false, .create_graph = true});
    }
    // The error comes before anything else is passed.
    const auto both = [&] { autograd::backward({y, later}); };
    CHECK(error_of(both).find("is not in a computational graph") != std::string::npos);
    later.backward();
    CHECK(floats(x.grad()) == Floats{2, 4});
    y = later = Tensor();
    const std::size_t before = live();
    for (int i = 0; i < 3; ++i) {
      const autograd::Record record;
      autograd::grad({net(x)}, {x}, {.retain_graph = false, .create_graph = true});
    }
    CHECK(live() == before);
  }
}

TEST_CASE("a pass that makes a graph leaves what it does not reach") {
  struct Two : HybridBlock {
    Tensors hybrid_forward(F& F, const Tensors& in) override {
      return {F.tanh(in[0] * in[0]) * in[0], F.exp(in[0]) * in[0]};
    }
  };
  std::vector<Tensor> first;
  for (const bool hybrid : {false, true}) {
    CAPTURE(hybrid);
    Two net;
    if (hybrid) net.hybridize();
    Tensor x = variable({0.5, -2}, {2});
    Tensors out, got;
    {
      const autograd::Record record;
      out = net(Tensors{x});
      got = autograd::grad({out[0]}, {x}, {.retain_graph = false, .create_graph = true});
    }
    CHECK_FALSE(error_of([&] { out[0].backward(); }).empty());
    out[1].backward();
    got.push_back(x.grad());
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i], first[i]));
  }
}

TEST_CASE("third derivatives through a block of one operator") {
  using Body = std::function<Tensor(F&, const Tensor&)>;
  const Body bodies[] = {[](F&, const Tensor& x) { return x * x; },
                         [](F& f, const Tensor& x) { return f.maximum(x, x); },
                         [](F& f, const Tensor& x) { return f.dot(x, x); },
                         [](F& f, const Tensor& x) {
                           return f.concat({x, x, x}, {.dim = 0});
                         },
                         [](F& f, const Tensor& x) { return f.tanh(x); }};
  const auto gradients = [](const Body& body, bool hybrid) {
    nn::HybridLambda net(body);
    if (hybrid) net.hybridize();
    Tensor x = random::uniform(-1, 1, {3, 3});
    x.attach_grad();
    const autograd::Record record;
    const Tensor y = net(x), z = F::sin(y) * y;
    const Tensor first = autograd::grad({z}, {x}, {.create_graph = true})[0],
                 second = autograd::grad({F::square(first)}, {x}, {.create_graph = true})[0];
    autograd::backward({F::square(second)});
    return Tensors{first, second, x.grad()};
  };
  for (std::size_t i = 0; i < std::size(bodies); ++i) {
    random::seed(3);
    const Tensors eager = gradients(bodies[i], false);
    random::seed(3);
    const Tensors hybrid = gradients(bodies[i], true);
    for (std::size_t k = 0; k < eager.size(); ++k) {
      CAPTURE(i, k);
      CHECK(same_bits(hybrid[k], eager[k]));
    }
  }
}
