// Hybridized calls: one recording per signature, the same bits as eagerly, aliasing, threads, export.
#include "function_net.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

using namespace kiln;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using Floats = std::vector<float>;

namespace {

nn::HybridSequential mlp() {
  nn::HybridSequential net({.prefix = "m_"});
  auto scope = net.name_scope();
  net.add(nn::Dense(8, {.activation = "relu"}), nn::Dense(4, {.activation = "tanh"}), nn::Dense(2));
  return net;
}

}  // namespace

TEST_CASE("hybrid_forward runs once for each signature", "[runs]") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0] * 2 + 1}; });
  net.hybridize();
  CHECK(net(ones({2})).to_vector<float>() == Floats{3, 3});
  CHECK(net(zeros({2})).to_vector<float>() == Floats{1, 1});
  CHECK(net.runs() == 1);
  net(ones({3}));
  net(ones({2}, DType::f64));
  CHECK(net.runs() == 3);
  {
    const autograd::TrainMode train;
    net(ones({2}));
  }
  CHECK(net.runs() == 4);
  net(ones({2}));
  net(ones({3}));
  CHECK(net.runs() == 4);
  CHECK(net.compiled_calls().size() == 4);
  CHECK(net.compiled_calls()[0].inputs == "float32 (2,)");
  net.hybridize(false);
  CHECK(net(ones({2})).to_vector<float>() == Floats{3, 3});
  CHECK(net.runs() == 5);
}

TEST_CASE("eager and hybridized networks agree bit for bit") {
  random::seed(3);
  auto net = mlp();
  net.initialize(init::Xavier());
  for (const std::int64_t batch : {1, 2, 7}) {
    const Tensor x = random::normal(0, 1, {batch, 5});
    net.hybridize(false);
    const Tensor eager = net(x);
    net.hybridize();
    CHECK(same_bits(net(x), eager));
    CHECK(same_bits(net(x), eager));
  }
}

TEST_CASE("shapes that do not fit are refused both ways") {
  auto net = mlp();
  net.initialize();
  net(ones({2, 3}));
  CHECK_THROWS_WITH(net(ones({2, 5})), Contains("(8, 3)") || Contains("[8,3]") || Contains("(8, 5)"));
  net.hybridize();
  CHECK_THROWS_AS(net(ones({2, 5})), Error);
  CHECK(net(ones({7, 3})).shape() == Shape{7, 2});
}

TEST_CASE("parameters may change between calls") {
  nn::Dense net(2, {.in_units = 2, .prefix = "d_"});
  net.initialize(init::One());
  net.hybridize();
  const Tensor x = ones({1, 2});
  CHECK(net(x).to_vector<float>() == Floats{2, 2});
  net.weight.set_data(full({2, 2}, 3));
  CHECK(net(x).to_vector<float>() == Floats{6, 6});
  Tensor inside = net.weight.data();
  inside *= 2;
  CHECK(net(x).to_vector<float>() == Floats{12, 12});
  inside[0] = 0;
  CHECK(net(x).to_vector<float>() == Floats{0, 12});
  static_cast<float*>(inside.mutable_data())[0] = 1;
  CHECK(net(x).to_vector<float>() == Floats{1, 12});
  net.cast(DType::f64);
  CHECK(net(ones({1, 2}, DType::f64)).to_vector<double>() == std::vector<double>{1, 12});
}

TEST_CASE("a new array for a parameter is seen") {
  nn::Dense net(1, {.use_bias = false, .in_units = 1, .prefix = "d_"});
  nn::HybridSequential outer;
  outer.add(net);
  outer.initialize(init::One());
  outer.hybridize();
  CHECK(outer(ones({1, 1})).to_vector<float>() == Floats{1});
  net.weight.cast(DType::f64);  // unknown to the network
  CHECK(outer(ones({1, 1}, DType::f64)).to_vector<float>() == Floats{1});
  net.weight.cast(DType::f32);
  net.weight.set_data(full({1, 1}, 5));
  CHECK(outer(ones({1, 1})).to_vector<float>() == Floats{5});
}

TEST_CASE("results that are views share memory, as eagerly") {
  for (const bool hybridized : {false, true}) {
    const Tensor held = full({2}, 7);
    Net net([held](F&, const Tensors& in) {
      Tensor y = in[0] + 1;
      return Tensors{in[0], in[0].reshape({2, 2}), y, y.reshape({2, 2}), held};
    });
    net.hybridize(hybridized);
    for (int round = 0; round < 2; ++round) {
      Tensor x = zeros({4});
      const Tensors out = net(Tensors{x});
      x += 5;
      CHECK(out[0].to_vector<float>() == Floats(4, 5));
      CHECK(out[1].to_vector<float>() == Floats(4, 5));
      Tensor y = out[2];
      y += 1;
      CHECK(out[3].to_vector<float>() == Floats(4, 2));
      CHECK(out[3].shape() == Shape{2, 2});
      CHECK(out[4].data() == held.data());
    }
  }
}

TEST_CASE("writes to inputs are seen by the caller") {
  for (const bool hybridized : {false, true}) {
    Net net([](F&, const Tensors& in) {
      Tensor x = in[0];
      x += 1;
      x[slice(0, 1)] = 10;
      return Tensors{x * 2};
    });
    net.hybridize(hybridized);
    for (int round = 0; round < 2; ++round) {
      Tensor x = zeros({3});
      CHECK(net(Tensors{x})[0].to_vector<float>() == Floats{20, 2, 2});
      CHECK(x.to_vector<float>() == Floats{10, 1, 1});
      // through a view of a larger array
      Tensor big = zeros({2, 3});
      net(Tensors{big[1]});
      CHECK(big.to_vector<float>() == Floats{0, 0, 0, 10, 1, 1});
    }
  }
}

TEST_CASE("inputs that share an array behave as eagerly") {
  for (const bool hybridized : {false, true}) {
    Net writes([](F&, const Tensors& in) {
      Tensor x = in[0];
      x += 1;
      return Tensors{in[1] * 10};
    });
    Net reads([](F&, const Tensors& in) { return Tensors{in[0] + in[1]}; });
    writes.hybridize(hybridized);
    reads.hybridize(hybridized);
    for (int round = 0; round < 2; ++round) {
      Tensor a = zeros({2}), b = zeros({2});
      CHECK(writes(Tensors{a, b})[0].to_vector<float>() == Floats{0, 0});
      CHECK(writes(Tensors{a, a})[0].to_vector<float>() == Floats{20, 20});
      CHECK(writes(Tensors{a, a.reshape({2, 1})})[0].to_vector<float>() == Floats{30, 30});
      CHECK(reads(Tensors{a, a})[0].to_vector<float>() == Floats{6, 6});
      CHECK(reads(Tensors{a, b})[0].to_vector<float>() == Floats{3, 3});
    }
  }
}

TEST_CASE("an input may be what the network holds") {
  for (const bool hybridized : {false, true}) {
    Tensor state = zeros({2});
    Net net([state](F&, const Tensors& in) {
      Tensor s = state;
      s += 1;
      return Tensors{in[0] * 2};
    });
    net.hybridize(hybridized);
    CHECK(net(ones({2})).to_vector<float>() == Floats{2, 2});
    CHECK(state.to_vector<float>() == Floats{1, 1});
    CHECK(net(state).to_vector<float>() == Floats{4, 4});
    CHECK(net(ones({2})).to_vector<float>() == Floats{2, 2});
    CHECK(state.to_vector<float>() == Floats{3, 3});
  }
}

TEST_CASE("the caller's memory is used as it is") {
  std::vector<float> memory{1, 2, 3};
  Net net([](F&, const Tensors& in) { return Tensors{in[0] * 2}; });
  net.hybridize();
  const Tensor x = Tensor::wrap(memory.data(), {3}, DType::f32);
  CHECK(net(x).to_vector<float>() == Floats{2, 4, 6});
  memory[0] = 10;
  CHECK(net(x).to_vector<float>() == Floats{20, 4, 6});
}

TEST_CASE("batch normalisation updates its statistics in training") {
  Floats mean[2], var[2], out[2];
  for (const bool hybridized : {false, true}) {
    nn::BatchNorm net({.prefix = "b_"});
    net.initialize();
    net.hybridize(hybridized);
    const Tensor x = arange(12).reshape({3, 4});
    for (int round = 0; round < 3; ++round) {
      const autograd::TrainMode train;
      net(x);
    }
    mean[hybridized] = net.running_mean.data().to_vector<float>();
    var[hybridized] = net.running_var.data().to_vector<float>();
    out[hybridized] = net(x).to_vector<float>();
    CHECK(mean[hybridized][0] > 0.5f);
  }
  CHECK(mean[0] == mean[1]);
  CHECK(var[0] == var[1]);
  CHECK(out[0] == out[1]);
}

TEST_CASE("dropout draws the same numbers eagerly and hybridized") {
  Floats out[2];
  for (const bool hybridized : {false, true}) {
    nn::HybridSequential net;
    net.add(nn::Dropout(0.5), nn::Dropout(0.25));
    net.hybridize(hybridized);
    random::seed(11);
    const autograd::TrainMode train;
    net(ones({50}));
    const Tensor second = net(ones({50}));
    out[hybridized] = second.to_vector<float>();
    CHECK(std::count(out[hybridized].begin(), out[hybridized].end(), 0.f) > 10);
  }
  CHECK(out[0] == out[1]);
}

TEST_CASE("reading a value while tracing names the line") {
  Net net([](F& F, const Tensors& in) {
    if (F.sum(in[0]).item<float>() > 0) return Tensors{in[0]};
    return Tensors{-in[0]};
  });
  CHECK(net(ones({2})).to_vector<float>() == Floats{1, 1});
  net.hybridize();
  CHECK_THROWS_WITH(net(ones({2})), Contains("hybridize_test.cpp:"));
  // and the network is as good as before
  net.hybridize(false);
  CHECK(net(ones({2})).to_vector<float>() == Floats{1, 1});
}

TEST_CASE("a plain block hybridizes its hybrid children", "[runs]") {
  nn::Sequential net({.prefix = "plain_"});
  Net inner([](F&, const Tensors& in) { return Tensors{in[0] + 1}; });
  net.add(inner, nn::Lambda([](const Tensor& x) { return x * x.item<float>(); }));
  net.hybridize();
  CHECK(net(full({1}, 2)).to_vector<float>() == Floats{9});
  CHECK(net(full({1}, 3)).to_vector<float>() == Floats{16});
  CHECK(inner.runs() == 1);
}

TEST_CASE("hybridized children are part of their parent's recording", "[runs]") {
  Net inner([](F&, const Tensors& in) { return Tensors{in[0] + 1}; });
  nn::HybridSequential net;
  net.add(inner, inner);
  net.hybridize();
  net(ones({1}));
  net(ones({1}));
  CHECK(inner.runs() == 2);
  CHECK(inner.compiled_calls().empty());
  CHECK(net.compiled_calls().size() == 1);
}

TEST_CASE("many threads may call one network", "[runs]") {
  auto net = mlp();
  net.initialize(init::Xavier());
  std::vector<Tensor> inputs, expected;
  for (std::int64_t i = 0; i < 6; ++i) {
    inputs.push_back(random::normal(0, 1, {1 + i % 3, 5}));
    expected.push_back(net(inputs.back()));
  }
  Net once([](F&, const Tensors& in) { return Tensors{in[0] + 1}; });
  once.hybridize();
  net.hybridize();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 60; ++i) {
        const std::size_t k = (i + static_cast<std::size_t>(t)) % inputs.size();
        if (!same_bits(net(inputs[k]), expected[k])) ++wrong;
        if (once(inputs[0]).shape() != inputs[0].shape()) ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(once.runs() == 1);
  CHECK(net.compiled_calls().size() == 3);
}

TEST_CASE("export needs a hybridized call") {
  nn::Dense net(2, {.in_units = 3, .prefix = "e_"});
  net.initialize();
  CHECK_THROWS_WITH(net.export_model("e"), Contains("call hybridize()"));
  net.hybridize();
  CHECK_THROWS_WITH(net.export_model("e"), Contains("call hybridize()"));
  const Tensor x = ones({1, 3});
  const Tensor y = net(x);
  net.export_model("e", 7);
  std::vector<std::string> names;
  for (const auto& a : load_arrays("e-0007.params")) names.push_back(a.name);
  CHECK(names == std::vector<std::string>{"arg:e_weight", "arg:e_bias"});
  CHECK(same_bits(SymbolBlock::imports("e-symbol.json", {"data"}, "e-0007.params")(x), y));
}

TEST_CASE("names that JSON does not allow are not exported") {
  const auto exported = [](const std::string& prefix, const std::string& name) {
    struct Named : HybridBlock {
      std::string name;
      Named(const std::string& p, std::string n) : HybridBlock({.prefix = p}), name(std::move(n)) {}
      Tensor hybrid_forward(F& F, const Tensor& x) override { return F.exp(F.softmax(x, {.name = name})); }
    } net(prefix, name);
    net.hybridize();
    net(ones({2}));
    std::filesystem::remove("named-symbol.json");
    net.export_model("named");
  };
  exported("n_", "\xc3\xa4 \"b\"\n");
  CHECK(std::filesystem::exists("named-symbol.json"));
  for (const std::string name : {"a\xff", "a\x01"}) {
    CHECK_THROWS_WITH(exported("n_", name), StartsWith("hybridize_test.cpp:") &&
                                                Contains("the node 'n_" + name + "'") && Contains("UTF-8"));
    CHECK_FALSE(std::filesystem::exists("named-symbol.json"));
  }
  CHECK_THROWS_WITH(exported("\xfe_", "softmax"), Contains("another prefix"));
}

TEST_CASE("what a program holds is exported with the rest") {
  const Tensor held = full({3}, 2);
  Net net([held](F&, const Tensors& in) { return Tensors{in[0] * held}; });
  net.hybridize();
  const Tensor y = net(ones({3}));
  net.export_model("held");
  CHECK(same_bits(SymbolBlock::imports("held-symbol.json", {"data"}, "held-0000.params")(ones({3})), y));
}

TEST_CASE("a network may have no inputs", "[runs]") {
  struct Noise : HybridBlock {
    Parameter mean = params().get("mean", {3});
    Tensor hybrid_forward(F& F) override { return F.random().normal(0, 1, {3}) + mean; }
  };
  Noise net;
  net.initialize(init::One());
  random::seed(2);
  const Tensor first = net(), second = net();
  net.hybridize();
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    random::seed(2);
    CHECK(same_bits(net(), first));
    CHECK(same_bits(net(Tensors{})[0], second));
  }
  CHECK(net.compiled_calls().size() == 1);
  CHECK(net.compiled_calls()[0].inputs == "no inputs");
  auto step = net.bind({});
  random::seed(2);
  CHECK(same_bits(step(), first));

  // The same block in a network with inputs, of constants, of states alone, and without any tensor
  Tensor count = zeros({1});
  Net counts([count](F&, const Tensors&) {
    Tensor c = count;
    c += 1;
    return Tensors{c * 2, zeros({2}) + 5};
  });
  nn::HybridSequential inside;
  for (const bool hybridized : {false, true}) {
    counts.hybridize(hybridized);
    count[slice()] = 0;
    CHECK(counts(Tensors{})[0].to_vector<float>() == Floats{2});
    CHECK(counts(Tensors{})[0].to_vector<float>() == Floats{4});
    CHECK(counts(Tensors{})[1].to_vector<float>() == Floats{5, 5});
    CHECK(count.to_vector<float>() == Floats{3});
  }
  Net outer([&net](F&, const Tensors& in) { return Tensors{in[0] + net()}; });
  random::seed(2);
  const Tensor eager = outer(ones({3}));
  outer.hybridize();
  random::seed(2);
  CHECK(same_bits(outer(ones({3})), eager));

  struct Plain : Block {
    Tensor forward() override { return ones({2}); }
  } plain;
  CHECK(plain().to_vector<float>() == Floats{1, 1});
}

TEST_CASE("a network without inputs is exported") {
  struct Table : HybridBlock {
    Parameter table = params().get("table", {2, 2});
    Tensor hybrid_forward(F& F) override { return F.softmax(table); }
  } net;
  net.initialize();
  const Tensor eager = net();
  net.hybridize();
  CHECK(same_bits(net(), eager));
  net.export_model("table");
  auto imported = SymbolBlock::imports("table-symbol.json", {}, "table-0000.params");
  CHECK(same_bits(imported(), eager));
  imported.hybridize();
  CHECK(same_bits(imported(), eager));
  CHECK(same_bits(Model::load("table-symbol.json", "table-0000.params").run({})[0], eager));
}
