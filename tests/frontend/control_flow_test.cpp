// Loops and branches of a program: eagerly, hybridized, exported.
#include "function_net.h"
#include "golden_files.h"

#include <cmath>
#include <regex>

using namespace kiln;

namespace {

using Results = struct F::contrib::Results;

Tensors cumulative(F& f, const Tensors& in) {
  const Results r = f.contrib().foreach (
      [&](const Tensors& rows, const Tensors& states) -> Results {
        Tensor sum = states[0] + rows[0] * in[2];
        return {{f.tanh(sum)}, {sum}};
      },
      {in[0]}, {in[1]});
  return {r.outputs[0], r.states[0]};
}

}  // namespace

TEST_CASE("foreach stacks the outputs and hands states on") {
  const Tensors r =
      everywhere(cumulative, {Tensor({{1, 2}, {3, 4}, {5, 6}}), Tensor({0.5, 1.0}), Tensor({1, -1})});
  CHECK(r[0].shape() == Shape{3, 2});
  CHECK(r[1].to_vector<float>() == std::vector<float>{9.5f, -11.f});
}

TEST_CASE("foreach of no step gives outputs of no row, and the initial states") {
  const Tensors r = everywhere(cumulative, {zeros({0, 2}), Tensor({0.5, 1.0}), Tensor({1, -1})});
  CHECK(r[0].shape() == Shape{0, 2});
  CHECK(r[1].to_vector<float>() == std::vector<float>{0.5f, 1});
}

TEST_CASE("a foreach of no step draws no random numbers, eagerly and hybridized") {
  const auto next_number = [](bool hybrid, std::int64_t steps) {
    Net net([](F& f, const Tensors& in) {
      return f.contrib()
          .foreach (
              [&](const Tensors& rows, const Tensors&) -> Results {
                return {{rows[0] + f.random_uniform(0, 1, Shape{2})}, {}};
              },
              {in[0]}, {})
          .outputs;
    });
    if (hybrid) net.hybridize();
    random::seed(3);
    net(Tensors{zeros({steps, 2})});
    return random::uniform(0, 1, {1}).item<float>();
  };
  random::seed(3);
  const float first = random::uniform(0, 1, {1}).item<float>();
  for (const bool hybrid : {false, true}) {
    CHECK(next_number(hybrid, 0) == first);
    CHECK(next_number(hybrid, 1) != first);
  }
}

TEST_CASE("foreach over one axis gives rows of one element") {
  const auto body = [](F& f, const Tensors& in) -> Tensors {
    const Results r = f.contrib().foreach (
        [&](const Tensors& rows, const Tensors&) -> Results {
          CHECK(rows[0].shape() == Shape{1});
          return {{rows[0] * 2}, {}};
        },
        {in[0]}, {});
    return r.outputs;
  };
  CHECK(everywhere(body, {Tensor({1, 2, 3})})[0].shape() == Shape{3, 1});
}

TEST_CASE("a loop draws other numbers at each step, the same eagerly and hybridized") {
  const auto body = [](F& f, const Tensors& in) -> Tensors {
    const Results r = f.contrib().foreach (
        [&](const Tensors& rows, const Tensors&) -> Results {
          return {{rows[0] + f.random_uniform(0, 1, Shape{2})}, {}};
        },
        {in[0]}, {});
    return r.outputs;
  };
  const std::vector<float> drawn = everywhere(body, {zeros({3, 2})})[0].to_vector<float>();
  CHECK(drawn[0] != drawn[2]);
  CHECK(drawn[2] != drawn[4]);
}

TEST_CASE("while_loop takes as many steps as its condition says") {
  const auto count_to = [](F& f, const Tensors& in) -> Tensors {
    const Results r = f.contrib().while_loop(
        [&](const Tensors& v) { return v[0] < in[1]; },
        [&](const Tensors& v) -> Results {
          return {{v[0] * 10 + f.random_uniform(0, 1, Shape{1})}, {v[0] + 1, v[1] * 2}};
        },
        {in[0], Tensor({1.f})}, 4);
    return {r.outputs[0], r.states[0], r.states[1]};
  };
  for (const float limit : {0.f, 1.f, 3.f, 9.f}) {
    const Tensors r = everywhere(count_to, {Tensor({0.f}), Tensor({limit})});
    const float steps = std::min(limit, 4.f);
    CHECK(r[0].shape() == Shape{4, 1});
    CHECK(r[1].item<float>() == steps);
    CHECK(r[2].item<float>() == std::exp2(steps));
    for (std::size_t i = 0; i < 4; ++i) {
      const float out = r[0].to_vector<float>()[i];
      CHECK((static_cast<float>(i) < steps ? out >= 10.f * static_cast<float>(i) : out == 0.f));
    }
  }
}

TEST_CASE("cond runs one of its branches and takes the same random numbers for either") {
  const auto choose = [](F& f, const Tensors& in) -> Tensors {
    return f.contrib().cond(
        f.sum(in[0]) > 0, [&] { return Tensors{in[0] * 2 + f.random_uniform(0, 1, Shape{2})}; },
        [&] { return Tensors{f.relu(in[0]) - 1}; });
  };
  CHECK(everywhere(choose, {Tensor({-3, 1})})[0].to_vector<float>() == std::vector<float>{-1, 0});
  CHECK(everywhere(choose, {Tensor({3, 1})})[0].to_vector<float>()[0] >= 6.f);
}

TEST_CASE("loops and branches nest") {
  const auto nested = [](F& f, const Tensors& in) -> Tensors {
    const Results r = f.contrib().foreach (
        [&](const Tensors& rows, const Tensors& states) -> Results {
          const Results inner =
              f.contrib().while_loop([&](const Tensors& v) { return f.sum(v[0]) < f.sum(rows[0]); },
                                     [&](const Tensors& v) -> Results {
                                       return {{v[0]}, {v[0] + 1}};
                                     },
                                     {states[0]}, 5);
          const Tensors chosen = f.contrib().cond(
              f.sum(inner.states[0]) > 4, [&] { return Tensors{inner.states[0] - in[1]}; },
              [&] { return Tensors{inner.states[0] * 1}; });
          return {{f.sum(inner.outputs[0])}, {chosen[0]}};
        },
        {in[0]}, {in[1]});
    return {r.outputs[0], r.states[0]};
  };
  everywhere(nested, {Tensor({{1, 2}, {6, 3}, {0, 5}}), Tensor({0.5, 0.25})});
}

TEST_CASE("a body uses parameters, and writes into its own arguments only") {
  class Recurrent final : public HybridBlock {
   public:
    Recurrent() { weight_ = params().get("weight", {2, 2}); }
    Tensor hybrid_forward(F& f, const Tensor& x) override {
      const Tensor w = weight_.data();
      return f.contrib()
          .foreach (
              [&](const Tensors& rows, const Tensors& states) -> Results {
                Tensor row = rows[0];
                row += 1;
                Tensor next = f.tanh(f.dot(row, w) + states[0]);
                return {{next}, {next}};
              },
              {x}, {f.zeros({3, 2})})
          .outputs[0];
    }

   private:
    Parameter weight_;
  };
  Recurrent net;
  net.initialize(init::Uniform(0.5));
  const Tensor x = random::uniform(0, 1, {4, 3, 2}), before = x.copy();
  const Tensor eager = net(x);
  net.hybridize();
  CHECK(same_bits(eager, net(x)));
  CHECK(same_bits(x, before));
}

TEST_CASE("a recorded loop is one node, whatever the number of steps, and reads back as it was written") {
  Net net(cumulative);
  const Symbol symbol = net(std::vector<Symbol>{sym::var("x"), sym::var("s"), sym::var("w")})[0];
  const std::string json = symbol.tojson();
  CHECK(json.find("\"_foreach\"") != std::string::npos);
  CHECK(json.find("\"in_data_locs\": \"[1]\"") != std::string::npos);
  CHECK(json.find("\"__subgraph_name__\": \"foreach") != std::string::npos);
  CHECK(Symbol::load_json(json).tojson() == json);
}

TEST_CASE("a branch on symbols is one node, and runs when its inputs are known") {
  F f;
  const Tensor x = sym::var("x"), y = sym::var("y");
  const Tensors chosen = f.contrib().cond(
      F::sum(x), [&] { return Tensors{x + y}; }, [&] { return Tensors{x * y}; });
  const Symbol symbol(chosen[0]);
  CHECK(Symbol::load_json(symbol.tojson()).tojson() == symbol.tojson());
  SymbolBlock net(symbol, {sym::var("x"), sym::var("y")});
  const auto run = [&](float a) { return net(Tensor({a, 0}), Tensor({5, 7})).to_vector<float>(); };
  CHECK(run(2) == std::vector<float>{7, 7});
  CHECK(run(0) == std::vector<float>{0, 0});
}

TEST_CASE("mistakes in bodies are named") {
  F f;
  const Tensor x = ones({3, 2}), s = ones({2});
  const auto grows = [&](const Tensors& rows, const Tensors& states) -> Results {
    return {{rows[0]}, {f.concat({states[0], states[0]}, {.dim = 0})}};
  };
  CHECK_THROWS_WITH(f.contrib().foreach (grows, {x}, {s}),
                    Catch::Contains("control_flow_test.cpp") && Catch::Contains("before a step"));
  CHECK_THROWS_WITH(f.contrib().foreach (grows, {x, ones({4})}, {s}), Catch::Contains("one number of steps"));
  CHECK_THROWS_WITH(f.contrib().cond(
                        x, [&] { return Tensors{x}; }, [&] { return Tensors{s}; }),
                    Catch::Contains("one element"));
  CHECK_THROWS_WITH(f.contrib().cond(ones({1}), {}, [&] { return Tensors{s}; }),
                    Catch::Contains("two branches"));
}

TEST_CASE("branches and while loops that write outside run eagerly") {
  struct Writes : HybridBlock {
    Child<nn::Dense> dense{this, "dense"};
    Tensor total = zeros({2, 2});

    Writes() { dense = nn::Dense(2); }
    Tensor hybrid_forward(F& f, const Tensor& x) override {
      const Tensor y = dense(x);
      const Results r = f.contrib().while_loop([](const Tensors& v) { return v[0] < 3; },
                                               [&](const Tensors& v) -> Results {
                                                 total += y;
                                                 return {{}, {v[0] + 1, v[1] * total}};
                                               },
                                               {f.zeros({1}), y}, 4);
      const Tensors z = f.contrib().cond(
          f.sum(x) > 0,
          [&] {
            total *= 2;
            return Tensors{r.states[1]};
          },
          [&] { return Tensors{y}; });
      return f.tanh(z[0]) + total;
    }
  };
  const auto run = [](bool hybrid) {
    Writes net;
    net.initialize(init::One());
    if (hybrid) net.hybridize();
    Tensors seen;
    Tensor x({{0.1, 0.2, 0.3}, {-0.1, 0.4, 0.2}});
    x.attach_grad();
    for (int call = 0; call < 2; ++call) {
      const autograd::Record record;
      const Tensor y = net(x);
      autograd::backward({y});
      for (const Tensor& t : {y, net.total, x.grad(), net.dense->weight.grad()}) seen.push_back(t.copy());
      net.total = zeros({2, 2});
    }
    if (hybrid) CHECK_FALSE(net.compiled_calls().back().compiled);
    return seen;
  };
  const Tensors eager = run(false), hybrid = run(true);
  for (std::size_t i = 0; i < eager.size(); ++i) {
    CAPTURE(i);
    CHECK(same_bits(hybrid[i], eager[i]));
  }
}

TEST_CASE("the condition of a while_loop draws random numbers") {
  for (const int most : {1, 6}) {
    const auto loop = [=](F& f, const Tensor& x) {
      return f.contrib()
          .while_loop([&](const Tensors&) { return f.random_uniform(0, 1, {1}) < 0.7; },
                      [&](const Tensors& v) -> Results {
                        return {{}, {v[0] + f.random_normal(0, 1, {2})}};
                      },
                      {x}, most)
          .states[0];
    };
    everywhere([=](F& f, const Tensors& in) { return Tensors{loop(f, in[0]) + f.random_normal(0, 1, {2})}; },
               {ones({2})});
    everywhere(
        [=](F& f, const Tensors& in) {
          return f.contrib()
              .foreach (
                  [&](const Tensors& rows, const Tensors&) -> Results {
                    return {{loop(f, rows[0])}, {}};
                  },
                  {in[0]}, {})
              .outputs;
        },
        {ones({3, 2})});
  }
}

TEST_CASE("a while_loop that may run many more steps than it does") {
  const auto loop = [](std::int64_t most) {
    Tensor x = ones({1});
    x.attach_grad();
    const autograd::Record record;
    const Results r = F::contrib::while_loop([](const Tensors& v) { return v[0] < 3; },
                                             [](const Tensors& v) -> Results {
                                               return {{v[0] * v[0]}, {v[0] + 1}};
                                             },
                                             {x}, most);
    autograd::backward({r.outputs[0]});
    return std::pair{r.outputs[0], x.grad()};
  };
  const auto [few, gradient] = loop(4);
  const auto [many, same] = loop(1'000'000);
  CHECK(many.shape() == Shape{1'000'000, 1});
  CHECK(same_bits(many[slice(0, 4)], few));
  CHECK(same_bits(same, gradient));
  CHECK_THROWS_WITH(loop(1'000'000'000'000), Catch::Contains("control_flow_test.cpp"));
}

TEST_CASE("a body of foreach that writes outside is recorded step by step") {
  const Tensor x({{1, 2}, {3, 4}});
  Tensor total = zeros({2});
  const auto writes = [&](F& f, const Tensors& in) -> Tensors {
    return f.contrib()
        .foreach (
            [&](const Tensors& rows, const Tensors&) -> Results {
              total += rows[0];
              return {{total * 2}, {}};
            },
            {in[0]}, {})
        .outputs;
  };
  Net net(writes);
  const Tensor eager = net(Tensors{x})[0];
  CHECK(total.to_vector<float>() == std::vector<float>{4, 6});
  total *= 0;
  net.hybridize();
  CHECK(same_bits(eager, net(Tensors{x})[0]));
  CHECK(total.to_vector<float>() == std::vector<float>{4, 6});
}

TEST_CASE("BatchNorm in the body of a loop updates its statistics at each step") {
  nn::BatchNorm norm;
  norm.initialize();
  const Tensor x = random::normal(0, 1, {3, 4, 2});
  const auto body = [&](F& f, const Tensors& in) -> Tensors {
    return f.contrib()
        .foreach (
            [&](const Tensors& rows, const Tensors&) -> Results {
              return {{norm(rows[0])}, {}};
            },
            {in[0]}, {})
        .outputs;
  };
  Net net(body);
  const autograd::TrainMode train(true);
  const auto run = [&] {
    Parameter mean = norm.params().get("running_mean"), var = norm.params().get("running_var");
    mean.set_data(zeros({2}));
    var.set_data(ones({2}));
    const Tensor out = net(Tensors{x})[0];
    return Tensors{out, mean.data().copy(), var.data().copy()};
  };
  norm(x[0]);
  const Tensors eager = run();
  net.hybridize();
  const Tensors compiled = run();
  for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(eager[i], compiled[i]));
  CHECK(eager[1].to_vector<float>() != std::vector<float>{0, 0});
}

TEST_CASE("loops and branches are written as MXNet writes them, and give its numbers") {
  class ControlFlow final : public HybridBlock {
   public:
    ControlFlow() : HybridBlock({.prefix = "cf_"}) {
      wx = params().get("wx", {6, 4});
      wh = params().get("wh", {6, 6});
    }

   protected:
    Tensors hybrid_forward(F& f, const Tensors& in) override {
      const Results steps = f.contrib().foreach (
          [&](const Tensors& rows, const Tensors& states) -> Results {
            const Tensor x = f.dot(rows[0], wx, {.transpose_b = true});
            const Tensor u = f.dot(states[0], wh, {.transpose_b = true});
            const Tensor h = f.tanh(x + u);
            return {{h}, {h}};
          },
          {in[0]}, {in[1]});
      const Tensor& state = steps.states[0];
      const Tensor positive = f.sum(state) > 0;
      const Tensor i = f.zeros({1}), s = f.reshape(f.mean(steps.outputs[0]), {1});
      const Results loop = f.contrib().while_loop([&](const Tensors& v) { return v[0] < 3; },
                                                  [&](const Tensors& v) -> Results {
                                                    const Tensor out = v[1] * 2, next = v[0] + 1;
                                                    return {{out}, {next, v[1] * 0.5 + v[0]}};
                                                  },
                                                  {i, s}, 3);
      const Tensors chosen = f.contrib().cond(
          positive, [&] { return Tensors{state * 2}; }, [&] { return Tensors{f.relu(state) - 1}; });
      return {steps.outputs[0], chosen[0], loop.outputs[0], loop.states[1]};
    }

   private:
    Parameter wx, wh;
  };
  const std::string base = golden::path("models/controlflow");
  ControlFlow net;
  const std::string expected = golden::read_text(base + "-symbol.json");
  // Subgraphs are numbered within a program; MXNet's began at 0.
  const auto numbered = [](std::string text) {
    return std::regex_replace(
        text, std::regex("\"(foreach|cond_pred|cond_then|cond_else|while_loop_cond|while_loop_func)[0-9]+\""),
        "\"$1\"");
  };
  CHECK(numbered(net(std::vector<Symbol>{sym::var("data0"), sym::var("data1")}).tojson()) ==
        numbered(expected));

  net.collect_params().load(base + "-0000.params");
  const std::vector<NamedArray> io = load_arrays(base + "-io.params");
  const Device device = DeviceScope::current();
  const Tensors inputs{find_array(io, "in:data0")->to(device), find_array(io, "in:data1")->to(device)};
  const Tensors eager = net(inputs);
  net.hybridize();
  const Tensors compiled = net(inputs);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(same_bits(eager[i], compiled[i]));
    const auto got = compiled[i].to_vector<float>(),
               wanted = find_array(io, "out:" + std::to_string(i))->to_vector<float>();
    REQUIRE(got.size() == wanted.size());
    for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == Approx(wanted[k]).margin(2e-4));
  }
  net.export_model("exported");
  CHECK(numbered(golden::read_text("exported-symbol.json")) == numbered(expected));
}
