// Exported networks at other sizes than in their recording: the same values, or an error that says so.
#include "function_net.h"

#include <kiln/log.h>

#include <fstream>

using namespace kiln;
using Catch::Matchers::Contains;

namespace {

/// Kiln's warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel level, std::string_view line) {
      if (level == LogLevel::warning) text_ += std::string(line) + "\n";
    });
  }
  ~Warnings() { set_log_sink({}); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Tensors random_like(const std::vector<Shape>& shapes) {
  Tensors out;
  for (const Shape& s : shapes) out.push_back(random::normal(0, 1, s));
  return out;
}

/// The file of a network after a call with these shapes, and the messages of the export.
struct Exported {
  explicit Exported(Net net, const std::vector<Shape>& shapes) : inputs(shapes.size()) {
    const Warnings listening;
    net.hybridize();
    net(random_like(shapes));
    net.export_model(prefix());
    warnings = listening.text();
  }
  std::string prefix() const { return "export_test_" + std::to_string(number); }
  std::string symbol() const { return prefix() + "-symbol.json"; }
  std::string text() const {
    std::ifstream in(symbol());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> names() const {
    if (inputs == 1) return {"data"};
    std::vector<std::string> out;
    for (std::size_t i = 0; i < inputs; ++i) out.push_back("data" + std::to_string(i));
    return out;
  }
  SymbolBlock block() const { return SymbolBlock::imports(symbol(), names(), prefix() + "-0000.params"); }

  static inline int made = 0;
  int number = made++;
  std::size_t inputs;
  std::string warnings;
};

/// Records at the first shapes, exports, imports, and compares with the program at all of them.
void same_at_all_sizes(const Net::Body& body, const std::vector<std::vector<Shape>>& sizes) {
  const Exported file(Net(body), sizes[0]);
  INFO(file.warnings << file.text());
  CHECK(file.warnings.empty());
  CHECK(file.text().find("__fixed_shape__") == std::string::npos);
  SymbolBlock block = file.block();
  for (const auto& shapes : sizes) {
    Net eager(body);
    const Tensors in = random_like(shapes);
    INFO("at " << shapes[0].str());
    const Tensors expected = eager(in), got = block(in);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i], expected[i]));
  }
}

using Body = Net::Body;
const std::vector<std::vector<Shape>> matrices{{{2, 3}}, {{4, 3}}, {{7, 5}}};

}  // namespace

TEST_CASE("reading slices exports open ends", "[export]") {
  const std::vector<Body> programs{
      [](F&, const Tensors& in) { return Tensors{in[0][slice(1, {})] * 2}; },
      [](F&, const Tensors& in) { return Tensors{in[0][slice({}, -1)] * 2}; },
      [](F&, const Tensors& in) { return Tensors{in[0][slice(-1, {})] * 2}; },
      [](F&, const Tensors& in) { return Tensors{in[0][slice(0, 1)] * 2}; },
      [](F&, const Tensors& in) { return Tensors{in[0][0] + in[0][-1]}; },
      [](F&, const Tensors& in) { return Tensors{in[0][slice({}, {}, 2)]}; },
      [](F&, const Tensors& in) { return Tensors{in[0][slice({}, {}, -1)]}; },
      [](F&, const Tensors& in) {
        return Tensors{in[0]({slice(), 0})};
      },
      [](F&, const Tensors& in) {
        return Tensors{in[0]({slice(), -1}) * in[0]({slice(), 1})};
      },
      [](F&, const Tensors& in) {
        return Tensors{in[0]({slice(), slice(1, {})}) * 3};
      },
      [](F&, const Tensors& in) {
        return Tensors{in[0]({slice({}, {}, -1), slice(-2, {})})};
      },
      [](F&, const Tensors& in) {
        return Tensors{in[0]({1, slice()}) + 1};
      },
      [](F&, const Tensors& in) {
        return Tensors{in[0]({-1, -1})};
      },
      [](F&, const Tensors& in) { return Tensors{in[0][1][slice(1, {})] * 2}; },
      [](F&, const Tensors& in) { return Tensors{in[0].reshape({-1})[slice(2, {})] * 2}; },
      [](F&, const Tensors& in) {
        return Tensors{in[0][slice(1, {})].reshape({-1, 1}) * 2};
      },
  };
  for (std::size_t i = 0; i < programs.size(); ++i) {
    INFO("program " << i);
    same_at_all_sizes(programs[i], matrices);
  }
}

TEST_CASE("writing slices exports open ends", "[export]") {
  const std::vector<Body> programs{
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        y[slice(1, {})] = 7;
        return Tensors{y};
      },
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        y[0] += 7;
        y[-1] *= y[0];
        return Tensors{y};
      },
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        y({slice(), 0}) = 1;
        y({slice(), -1}) = in[0]({slice(), 1});
        return Tensors{y};
      },
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        y({slice({}, {}, -1), slice(1, {})}) = y[0][slice(1, {})];
        return Tensors{y};
      },
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        Tensor tail = y[slice(1, {})];
        y += 1;
        tail -= 5;
        return Tensors{y, tail * y[0]};
      },
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        Tensor flat = y.reshape({-1});
        flat[slice({}, -2)] = 3;
        Tensor row = y[-1];
        row[1] = 4;
        return Tensors{y, flat};
      },
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        y[slice()] = 0;
        y[slice(1, {})] = in[0][0];
        return Tensors{y};
      },
      [](F&, const Tensors& in) {
        Tensor y = in[0] * 2;
        y({1, 2}) = 4;
        y({-1, 0}) = y({0, 1});
        return Tensors{y};
      },
  };
  for (std::size_t i = 0; i < programs.size(); ++i) {
    INFO("program " << i);
    same_at_all_sizes(programs[i], matrices);
  }
}

TEST_CASE("several inputs grow together", "[export]") {
  // The second axis is the batch of both; an extent of 1 broadcasts.
  same_at_all_sizes(
      [](F& F, const Tensors& in) {
        return Tensors{F.broadcast_add(in[0], in[1]) * in[0], in[0] + in[0], in[1][0] + 1};
      },
      {{{4, 4, 2}, {1, 4, 2}}, {{5, 3, 2}, {1, 3, 2}}});
  same_at_all_sizes([](F&, const Tensors& in) { return Tensors{in[0] * in[1]}; },
                    {{{1, 3}, {1, 3}}, {{4, 3}, {4, 3}}});
}

TEST_CASE("a sum that broadcasts at other sizes does so in the file", "[export]") {
  // At a batch of one the shapes are equal, and the recording has elemwise operators.
  const Tensor positions = random::normal(0, 1, {1, 4, 2});
  const Body body = [positions](F&, const Tensors& in) {
    Tensor x = in[0] + positions;
    return Tensors{x, positions > x, x + in[0]};
  };
  same_at_all_sizes(body, {{{1, 4, 2}}, {{5, 4, 2}}, {{2, 4, 2}}});
  const Exported file(Net(body), {{1, 4, 2}});
  CHECK_THAT(file.text(), Contains("\"op\": \"broadcast_add\"") &&
                              Contains("\"op\": \"broadcast_greater\"") &&
                              Contains("\"op\": \"elemwise_add\""));
  const Tensor x = random::normal(0, 1, {3, 4, 2});
  const Model model = Model::load(file.symbol(), file.prefix() + "-0000.params");
  CHECK(same_bits(model.run({{"data", x}})[0], x + positions));

  // In the body of a loop, too.
  same_at_all_sizes(
      [row = random::normal(0, 1, {1, 2})](F& f, const Tensors& in) {
        const auto step = [&](const Tensors& rows, const Tensors& states) -> struct F::contrib::Results {
          return {{rows[0] + row}, {states[0]}};
        };
        return f.contrib().foreach (step, {in[0]}, {in[0][0] + 0}).outputs;
      },
      {{{3, 1, 2}}, {{4, 5, 2}}});
}

TEST_CASE("a layer's channels are for the layer to check", "[export]") {
  const auto net = [](F& F, const Tensors& in) {
    return Tensors{
        F.Convolution(in[0], F.ones({2, 3, 3, 3}), {.kernel = {3, 3}, .num_filter = 2, .no_bias = true})};
  };
  same_at_all_sizes(net, {{{1, 3, 5, 5}}, {{2, 3, 8, 7}}});
}

TEST_CASE("a graph that depends on sizes says so, and is refused at others", "[export]") {
  const unsigned line = __LINE__ + 2;
  const Body body = [](F& F, const Tensors& in) {
    return Tensors{F.reshape(in[0], {in[0].shape()[0], 3}) + 1};
  };
  const Exported file(Net(body), {{2, 3}});
  CHECK_THAT(file.warnings, Contains(file.symbol()) && Contains("export_test.cpp:" + std::to_string(line)) &&
                                Contains("Reshape") && Contains("shape = (2, 3), but (5, 3)"));
  CHECK_THAT(file.text(), Contains("\"attrs\": {\"__fixed_shape__\": \"(2, None)\"}"));

  const Tensors good = random_like({{2, 3}}), bad = random_like({{4, 3}});
  const auto refused = [&](const auto& call) {
    CHECK_THROWS_WITH(
        call(), Contains(file.symbol()) && Contains("'data'") && Contains("(2, any)") && Contains("(4, 3)"));
  };
  SymbolBlock block = file.block();
  CHECK(same_bits(block(good[0]), Net(body)(good[0])));
  refused([&] { block(bad[0]); });
  block.hybridize();
  refused([&] { block(bad[0]); });
  CHECK(same_bits(block(good[0]), Net(body)(good[0])));

  const Model model = Model::load(file.symbol());
  CHECK(same_bits(model.run({{"data", good[0]}})[0], Net(body)(good[0])));
  refused([&] { model.run({{"data", bad[0]}}); });
  refused([&] { model.make_inputs({{"data", {4, 3}}}); });
  CHECK_THROWS_WITH(Symbol::load(file.symbol()).infer_shape({{"data", {4, 3}}}), Contains("(2, any)"));
  CHECK_THROWS_WITH(block(sym::var("x")), Contains("symbol"));
}

TEST_CASE("a number of operators that depends on sizes", "[export]") {
  const Exported file(Net([](F&, const Tensors& in) {
                        Tensor sum = in[0][0];
                        for (int i = 1; i < in[0].shape()[0]; ++i) sum = sum + in[0][i];
                        return Tensors{sum};
                      }),
                      {{3, 2}});
  CHECK_THAT(file.warnings, Contains("export_test.cpp"));
  CHECK_THAT(file.text(), Contains("\"(3, None)\""));
  CHECK_THROWS_WITH(file.block()(ones({4, 2})), Contains("(3, any)"));
}

TEST_CASE("an array made in C++ for one size", "[export]") {
  const Exported file(Net([](F&, const Tensors& in) {
                        const std::vector<float> weights(static_cast<std::size_t>(in[0].shape()[1]), 2.0f);
                        return Tensors{in[0] * Tensor(weights, {1, in[0].shape()[1]})};
                      }),
                      {{3, 2}});
  CHECK_THAT(file.text(), Contains("\"(None, 2)\""));
  CHECK_THROWS_WITH(file.block()(ones({3, 4})), Contains("(any, 2)"));
  CHECK(file.block()(ones({7, 2})).to_vector<float>() == std::vector<float>(14, 2.0f));
}

TEST_CASE("sizes stay with the graph through further exports", "[export]") {
  const Exported first(Net([](F& F, const Tensors& in) {
                         return Tensors{F.reshape(in[0], {in[0].shape()[0], 3})};
                       }),
                       {{2, 3}});
  const SymbolBlock inner = first.block();
  // The network around it halves the rows.
  const Exported second(
      Net([inner](F&, const Tensors& in) { return SymbolBlock(inner)(Tensors{in[0][slice({}, {}, 2)]}); }),
      {{4, 3}});
  CHECK_THAT(second.warnings, Contains(first.symbol()));
  CHECK_THAT(second.text(), Contains("\"(4, None)\""));
  CHECK_THROWS_WITH(second.block()(ones({6, 3})), Contains("(4, any)"));
}

TEST_CASE("slices in the body of a loop", "[export]") {
  same_at_all_sizes(
      [](F& f, const Tensors& in) {
        const Tensor x = in[0];
        const auto step = [&](const Tensors& rows, const Tensors& states) -> struct F::contrib::Results {
          return {{rows[0] + x[-1] + x[slice(1, {})].sum()}, {states[0] + rows[0]}};
        };
        const auto r = f.contrib().foreach (step, {x}, {x[0] + 0});
        return Tensors{r.outputs[0], r.states[0]};
      },
      {{{2, 3}}, {{5, 3}}});
}

TEST_CASE("what a file cannot say is no export", "[export]") {
  const Body adds = [](F&, const Tensors& in) {
    Tensor x = in[0];
    x += 1;
    return Tensors{x * in[1]};
  };
  Net net(adds);
  net.hybridize();
  const Tensor x = ones({2});
  net(Tensors{x, x});  // runs operator by operator: both inputs are one array
  CHECK_THROWS_WITH(net.export_model("export_test_never"), Contains("export_test.cpp") && Contains("data0"));
  net(Tensors{x, ones({2})});
  CHECK_THROWS_WITH(net.export_model("export_test_never"), Contains("cannot express writes"));

  Tensor steps = zeros({1});
  Net counts([steps](F&, const Tensors& in) mutable {
    steps += 1;
    return Tensors{in[0] * steps};
  });
  counts.hybridize();
  counts(x);
  CHECK_THROWS_WITH(counts.export_model("export_test_never"), Contains("export_test.cpp"));
  CHECK(!std::ifstream("export_test_never-symbol.json"));
}

TEST_CASE("a block that opens Record is exported as a recorded call has it", "[export]") {
  for (const bool recorded : {false, true}) {
    CAPTURE(recorded);
    Net net([](F& f, const Tensors& in) {
      Tensor y;
      {
        const autograd::Record record;
        y = f.tanh(in[0]);
      }
      Tensor constant;
      {
        const autograd::Pause pause;
        constant = f.sin(in[0]);
      }
      return Tensors{y * 3 + constant * in[0]};
    });
    net.hybridize();
    Tensor x({0.5f, 2.f, -1.f}), same = x.copy();
    x.attach_grad();
    same.attach_grad();
    std::optional<autograd::Record> record;
    if (recorded) record.emplace();
    net(Tensors{x});
    record.reset();
    net.export_model("export_test_record");
    SymbolBlock imported = SymbolBlock::imports("export_test_record-symbol.json", {"data"});
    autograd::record([&] { return net(Tensors{x})[0]; }).backward();
    autograd::record([&] { return imported(same); }).backward();
    CHECK(x.grad().to_vector<float>() == same.grad().to_vector<float>());
  }
}

TEST_CASE("a parameter that a block reads by data() is exported with its values", "[export]") {
  struct Scaled : HybridBlock {
    Parameter weight = params().get("weight", {3}, {.init = "ones"});
    Tensor hybrid_forward(F&, const Tensor& x) override { return x * weight.data() + weight; }
  };
  Scaled net;
  net.initialize();
  net.hybridize();
  const Tensor x({0.5f, 2.f, -1.f});
  const std::vector<float> y = net(x).to_vector<float>();
  net.export_model("export_test_data");
  SymbolBlock imported =
      SymbolBlock::imports("export_test_data-symbol.json", {"data"}, "export_test_data-0000.params");
  CHECK(imported(x).to_vector<float>() == y);
}

TEST_CASE("hooks do not run for an export", "[export]") {
  nn::HybridSequential net;
  net.add(nn::Dense(2));
  int calls = 0;
  net[0].register_forward_hook([&](Block&, const Tensors&, const Tensors&) { ++calls; });
  net.initialize();
  net.hybridize();
  net(ones({2, 3}));
  const int before = calls;
  net.export_model("export_test_hooks");
  CHECK(calls == before);
}
