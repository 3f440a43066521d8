// autograd as a program uses it: scopes, heads, lifetimes and errors.
#include "function_net.h"
#include "golden_files.h"
#include "same_bits.h"

#include <catch2/catch.hpp>
#include <limits>
#include <thread>

using namespace kiln;
using golden::error_of;

namespace {

Tensor variable(std::vector<float> values, const Shape& shape) {
  Tensor x(values, shape);
  x.attach_grad();
  return x;
}
std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }
using Floats = std::vector<float>;

}  // namespace

TEST_CASE("the gradient of a recorded computation") {
  Tensor x = variable({1, 2, 3}, {3});
  Tensor y;
  {
    const autograd::Record record;
    CHECK(autograd::is_recording());
    CHECK(autograd::is_training());
    y = x * x + 2 * x;
  }
  CHECK_FALSE(autograd::is_recording());
  CHECK_FALSE(autograd::is_training());
  y.backward();
  CHECK(floats(x.grad()) == Floats{4, 6, 8});
}

TEST_CASE("scopes set and restore the modes") {
  const autograd::Record record(false);
  CHECK(autograd::is_recording());
  CHECK_FALSE(autograd::is_training());
  {
    const autograd::TrainMode train;
    CHECK(autograd::is_recording());
    CHECK(autograd::is_training());
    const autograd::Pause pause;
    CHECK_FALSE(autograd::is_recording());
    CHECK_FALSE(autograd::is_training());
    const autograd::PredictMode predict;
    CHECK_FALSE(autograd::is_recording());
  }
  CHECK(autograd::is_recording());
  CHECK_FALSE(autograd::is_training());
}

TEST_CASE("record() calls a function inside Record") {
  Tensor x = variable({1, 2}, {2});
  const auto modes = [] { return std::pair(autograd::is_recording(), autograd::is_training()); };
  CHECK(autograd::record(modes) == std::pair(true, true));
  CHECK(autograd::record(modes, /*train=*/false) == std::pair(true, false));
  CHECK(modes() == std::pair(false, false));
  autograd::record([&] { return x * x; }).backward();
  CHECK(floats(x.grad()) == Floats{2, 4});
  Tensor y;
  autograd::record([&] { y = 3 * x; });
  y.backward();
  CHECK(floats(x.grad()) == Floats{3, 3});
  CHECK_THROWS_AS(autograd::record([]() -> int { throw 1; }), int);
  CHECK_FALSE(autograd::is_recording());
}

TEST_CASE("a gradient is written, added or not computed") {
  for (const GradReq req : {GradReq::write, GradReq::add, GradReq::null}) {
    Tensor x({1, 2});
    x.attach_grad(req);
    const auto step = [&] {
      Tensor y;
      {
        const autograd::Record record;
        y = 3 * x;
      }
      y.backward();
    };
    if (req == GradReq::null) {
      CHECK(error_of(step).find("is not in a computational graph") != std::string::npos);
      CHECK(error_of([&] { x.grad(); }).find("attach_grad") != std::string::npos);
      continue;
    }
    step();
    step();
    CHECK(floats(x.grad()) == (req == GradReq::add ? Floats{6, 6} : Floats{3, 3}));
    x.zero_grad();
    CHECK(floats(x.grad()) == Floats{0, 0});
  }
}

TEST_CASE("a handle of the gradient sees later ones") {
  Tensor x = variable({1, 2}, {2});
  const Tensor g = x.grad();
  CHECK(floats(g) == Floats{0, 0});
  Tensor y;
  {
    const autograd::Record record;
    y = 5 * x;
  }
  y.backward();
  CHECK(floats(g) == Floats{5, 5});
}

TEST_CASE("heads: given gradients, ones, twice, several") {
  Tensor x = variable({2, 3}, {2});
  Tensor y, z;
  {
    const autograd::Record record;
    y = x * x;
    z = 10 * x;
  }
  autograd::backward({y}, {Tensor({1, 100})}, {.retain_graph = true});
  CHECK(floats(x.grad()) == Floats{4, 600});
  autograd::backward({y, y}, {}, {.retain_graph = true});
  CHECK(floats(x.grad()) == Floats{8, 12});
  autograd::backward({y, z}, {Tensor(), Tensor({1, 2})});
  CHECK(floats(x.grad()) == Floats{14, 26});
}

TEST_CASE("errors of backward name the line and the remedy") {
  Tensor x = variable({1, 1}, {2});
  Tensor y = 2 * x;
  CHECK(error_of([&] { y.backward(); }).find("autograd_test.cpp") != std::string::npos);
  CHECK(error_of([&] {
          y.backward();
        }).find("Cannot differentiate node because it is not in a computational graph") != std::string::npos);
  {
    const autograd::Record record;
    y = x * x;
  }
  CHECK(error_of([&] { autograd::backward({y}, {Tensor({1.0})}); }).find("shape and dtype must be equal") !=
        std::string::npos);
  y.backward();
  CHECK(error_of([&] { y.backward(); }).find("retain_graph = true") != std::string::npos);
  CHECK(floats(x.grad()) == Floats{2, 2});
  Tensor whole = arange(3).astype(DType::i32);
  CHECK(error_of([&] { whole.attach_grad(); }).find("only floating-point arrays have gradients") !=
        std::string::npos);
  Tensor rows = ones({3, 2});
  Tensor row = rows[1];
  CHECK(error_of([&] { row.attach_grad(); }).find("copy() the view") != std::string::npos);
}

TEST_CASE("what a variable has no path to keeps its gradient") {
  Tensor x = variable({1}, {1}), z = variable({1}, {1});
  z.grad()[slice()] = 7;
  Tensor y;
  {
    const autograd::Record record;
    y = 2 * x;
    Tensor unused = 3 * z;
  }
  y.backward();
  CHECK(floats(z.grad()) == Floats{7});
}

TEST_CASE("pause and detach make constants") {
  Tensor x = variable({3}, {1});
  Tensor y;
  {
    const autograd::Record record;
    Tensor c;
    {
      const autograd::Pause pause;
      c = x * x;
    }
    y = x * c + x.detach() * x;
  }
  y.backward();
  CHECK(floats(x.grad()) == Floats{12});
  {
    const autograd::Record record;
    y = x * 2;
    y.attach_grad();  // cuts its history
    y = y * 3;
  }
  y.backward();
  CHECK(floats(x.grad()) == Floats{12});
}

TEST_CASE("a write never changes a gradient") {
  Tensor x = variable({1, 2}, {2});
  Tensor y, w = Tensor({5, 5});
  {
    const autograd::Record record;
    y = x * w;
  }
  w[slice()] = 100;
  x[slice()] = 50;  // outside of Record: allowed, and the tape keeps what it saw
  y.backward();
  CHECK(floats(x.grad()) == Floats{5, 5});
  CHECK(floats(x) == Floats{50, 50});

  {
    const autograd::Record record;
    y = w.exp() * x;  // the result of exp is saved, and its array dies
  }
  w[slice()] = 0;
  y.backward();
  CHECK(x.grad().to_vector<float>()[0] > 1e30f);
}

TEST_CASE("a model that updates its states changes no gradient") {
  const Tensor out =
      F::BatchNorm(sym::var("data"), sym::var("gamma"), sym::var("beta"), sym::var("mean"), sym::var("var"));
  const Model model = Model::from_symbol(Symbol(out));
  PreparedModel prepared = model.prepare({{"data", Tensor(Floats{1, 3}, {2, 1})},
                                          {"gamma", ones({1})},
                                          {"beta", zeros({1})},
                                          {"mean", full({1}, 8)},
                                          {"var", ones({1})}},
                                         {.train = true});
  Tensor mean;
  for (const NamedArray& state : prepared.auxiliary_states())
    if (state.name == "mean") mean = state.array;
  Tensor w = variable({5}, {1});
  Tensor y;
  {
    const autograd::Record record;
    y = w * mean;
  }
  prepared.run();
  CHECK(floats(mean) != Floats{8});
  y.backward();
  CHECK(floats(w.grad()) == Floats{8});
}

TEST_CASE("writes inside Record differentiate") {
  Tensor x = variable({1, 2, 3, 4}, {2, 2});
  Tensor y;
  {
    const autograd::Record record;
    y = x * 2;
    y += x;        // 3 x
    y[0] = 7;      // the first row has no history
    y[1] *= x[1];  // 3 x^2
    Tensor flat = y.reshape({4});
    flat[slice(3, 4)] = x[0][slice(0, 1)];
  }
  CHECK(floats(y) == Floats{7, 7, 27, 1});
  y.backward();
  CHECK(floats(x.grad()) == Floats{1, 0, 18, 0});
}

TEST_CASE("writing an array with a gradient attached is refused inside Record") {
  Tensor x = variable({1, 2}, {2});
  const autograd::Record record;
  const std::string error = error_of([&] { x += 1; });
  CHECK(error.find("autograd_test.cpp") != std::string::npos);
  CHECK(error.find("autograd::Pause") != std::string::npos);
  {
    const autograd::Pause pause;
    x += 1;
  }
  CHECK(floats(x) == Floats{2, 3});
}

TEST_CASE("views read through to their array") {
  Tensor x = variable({1, 2, 3, 4, 5, 6}, {3, 2});
  Tensor y;
  {
    const autograd::Record record;
    y = x[1] * x[2] + x.reshape({6})[slice(0, 2)] + x(std::vector<Index>{slice(0, 2), 1});
  }
  y.backward();
  CHECK(floats(x.grad()) == Floats{1, 2, 5, 7, 3, 4});
}

TEST_CASE("a view of a variable is recorded again after its entry is passed") {
  Tensor w = variable({1, 2, 3, 4}, {2, 2});
  const auto live = [] { return memory_report().live_bytes; };
  std::uint64_t before = 0;
  for (int step = 0; step < 20; ++step) {
    Tensor y;
    {
      const autograd::Record record;
      y = (w[0] * w[1] + w.reshape({4})[slice(0, 2)]).sum();
    }
    y.backward();
    CHECK(floats(w.grad()) == Floats{4, 5, 1, 2});
    y = Tensor();
    if (step == 3) before = live();
  }
  CHECK(live() == before);
}

TEST_CASE("grad returns gradients of any recorded value and writes none") {
  Tensor x = variable({1, 2}, {2});
  Tensor h, y;
  {
    const autograd::Record record;
    h = x * x;
    y = h * 3;
  }
  const std::vector<Tensor> g = autograd::grad({y}, {x, h}, {.retain_graph = true});
  CHECK(floats(g[0]) == Floats{6, 12});
  CHECK(floats(g[1]) == Floats{3, 3});
  CHECK(floats(x.grad()) == Floats{0, 0});
  Tensor other = variable({1}, {1});
  CHECK(error_of([&] { autograd::grad({y}, {other}); }).find("no head depends on variable 0") !=
        std::string::npos);
}

TEST_CASE("parameters have gradients") {
  nn::Dense net(2, {.in_units = 3});
  net.initialize(init::One());
  Tensor x({1, 2, 3});
  Tensor y;
  for (const bool hybrid : {false, true}) {
    if (hybrid) net.hybridize();
    {
      const autograd::Record record;
      y = net(x.reshape({1, 3}));
    }
    y.backward();
    CHECK(floats(net.weight.grad()) == Floats{1, 2, 3, 1, 2, 3});
    CHECK(floats(net.bias.grad()) == Floats{1, 1});
  }
  net.collect_params().zero_grad();
  CHECK(floats(net.bias.grad()) == Floats{0, 0});
  net.weight.set_grad_req(GradReq::null);
  CHECK(error_of([&] { net.weight.grad(); }).find("because grad_req is null") != std::string::npos);
}

TEST_CASE("eager and hybridized gradients have the same bits") {
  struct Net : HybridBlock {
    Child<nn::Dense> a{this, "a"}, b{this, "b"};
    Child<nn::BatchNorm> norm{this, "norm"};
    Child<nn::Dropout> drop{this, "drop"};
    Net() {
      a = nn::Dense(16, {.activation = "tanh"});
      b = nn::Dense(16);
      norm = nn::BatchNorm();
      drop = nn::Dropout(0.4f);
    }
    Tensor hybrid_forward(F& F, const Tensor& x) override {
      Tensor h = drop(a(x));
      h = h + b(h) * h;
      return norm(F.concat({h, h * h}, 1));
    }
  };
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    std::vector<Tensor> first;
    for (const bool hybrid : {false, true}) {
      random::seed(3);
      Net net;
      net.initialize(init::Normal(0.3));
      if (hybrid) net.hybridize();
      Tensor x = random::normal(0, 1, {9, 16});
      x.attach_grad();
      Tensor loss;
      for (int step = 0; step < 2; ++step) {
        const autograd::Record record;
        const Tensor y = net(x);
        loss = (y * y).mean() + net(y[slice(0, 4)].reshape({8, 16})).sum();
      }
      // A pass overwrites what the call saved, unless it is to be retained.
      loss.backward({}, {.retain_graph = true});
      const Tensor retained = x.grad().copy();
      loss.backward();
      CHECK(same_bits(x.grad(), retained));
      std::vector<Tensor> all{loss, x.grad()};
      for (const Parameter& p : net.collect_params()) {
        all.push_back(p.data());
        if (p.grad_req() != GradReq::null) all.push_back(p.grad());
      }
      if (first.empty()) {
        first = all;
        continue;
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        INFO("array " << i << " on " << threads << " threads");
        CHECK(same_bits(all[i], first[i]));
      }
    }
  }
}

TEST_CASE("recorded arrays are freed with the last that leads to them") {
  const auto live = [] { return memory_report().live_bytes; };
  Tensor x = ones({1000});
  x.attach_grad();
  const auto before = live();
  {
    Tensor y;
    {
      const autograd::Record record;
      y = (x.exp().exp() * x).tanh();
    }
    CHECK(live() > before);
  }
  CHECK(live() == before);
  {
    Tensor y;
    {
      const autograd::Record record;
      y = (x.exp() * x).tanh();
    }
    y.backward();
  }
  CHECK(live() == before + 4000);  // the gradient
}

TEST_CASE("bound calls: refused inside Record, and their results are saved for the tape") {
  nn::Dense net(1, {.in_units = 2});
  net.initialize(init::One());
  net.hybridize();
  Tensor x = ones({1, 2});
  auto bound = net.bind({x});
  const Tensor result = bound();
  Tensor w = variable({3}, {1, 1});
  Tensor y;
  {
    const autograd::Record record;
    CHECK(error_of([&] { bound(); }).find("call the block inside autograd::Record") != std::string::npos);
    y = w * result;
  }
  x[slice()] = 100;
  bound();  // writes into the same array
  y.backward();
  CHECK(floats(w.grad()) == Floats{2});
}

TEST_CASE("two threads record at once") {
  Tensor shared = ones({64});
  shared.attach_grad();
  std::vector<std::thread> threads;
  std::vector<Floats> results(4);
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Tensor own = full({64}, static_cast<double>(t));
      own.attach_grad();
      for (int i = 0; i < 50; ++i) {
        Tensor y;
        {
          const autograd::Record record;
          y = (shared * own).exp() + shared[slice(0, 64)] * 0 + shared.reshape({8, 8})[0].sum() * 0;
        }
        results[t] = floats(autograd::grad({y}, {own})[0]);
      }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < 4; ++t)
    CHECK(results[t][0] == Approx(std::exp(static_cast<double>(t))).epsilon(1e-5));
}
