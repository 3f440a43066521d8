// Networks that share the parameters of another: Gluon's idiom, a dictionary given to the outermost block,
// whose name scope hands it on. Which parameters are shared is MXNet 1.9.1's answer to the same programs.
#include <kiln/contrib.h>
#include <kiln/kiln.h>
#include <kiln/model_zoo.h>

#include <catch2/catch.hpp>
#include <functional>
#include <optional>

using namespace kiln;
using Catch::Matchers::Contains;

namespace {

using Make = std::function<std::shared_ptr<Block>(const BlockOptions&)>;

template <class Container>
Make with_scope(std::function<void(Container&)> fill) {
  return [fill](const BlockOptions& options) {
    auto net = std::make_shared<Container>(options);
    auto scope = net->name_scope();
    fill(*net);
    return net;
  };
}

/// The names of b's parameters that a does not have.
std::vector<std::string> own(const Block& b, const Block& a) {
  const ParameterDict theirs = a.collect_params();
  std::vector<std::string> out;
  for (const Parameter& p : b.collect_params())
    if (!theirs.contains(p.name()) || !(theirs[p.name()] == p)) out.push_back(p.name());
  return out;
}

struct Net : HybridBlock {
  Child<nn::Dense> fc{this, "fc"};
  Child<nn::HybridSequential> body{this, "body"};
  Parameter w;
  Constant c{"", zeros({1})};

  explicit Net(const BlockOptions& options = {}) : HybridBlock(options) {
    auto scope = name_scope();
    fc = nn::Dense(3);
    w = params().get("w", {2, 2});
    c = params().get_constant("c", ones({2}));
    body = nn::HybridSequential();
    auto inner = body->name_scope();
    body->add(nn::Dense(2));
  }
  Tensor hybrid_forward(F&, const Tensor& x) override { return (*body)((*fc)(x)); }
};

template <class Cell>
Make cells() {
  return with_scope<rnn::SequentialRNNCell>([](rnn::SequentialRNNCell& s) {
    s.add(Cell(4), rnn::ResidualCell(Cell(4)));
    s.add(rnn::ZoneoutCell(Cell(4)));
  });
}

struct Case {
  const char* name;
  Make make;
  std::size_t parameters;  // all are shared
};

const Case cases[] = {
    {"layers of the same kind in one add()", with_scope<nn::HybridSequential>([](nn::HybridSequential& net) {
       net.add(nn::Dense(4), nn::Dense(3, {.activation = "relu"}), nn::Dense(4));
     }),
     6},
    {"Sequential", with_scope<nn::Sequential>([](nn::Sequential& net) {
       net.add(nn::Dense(4), nn::Dense(3));
       net.add(nn::Dense(2));
     }),
     6},
    {"nested", with_scope<nn::HybridSequential>([](nn::HybridSequential& net) {
       nn::HybridSequential inner;
       {
         auto scope = inner.name_scope();
         inner.add(nn::Dense(2), nn::BatchNorm());
       }
       net.add(inner, nn::Conv2D(2, 3), nn::Embedding(5, 2), nn::LayerNorm());
     }),
     11},
    {"blocks with an empty prefix", with_scope<nn::HybridSequential>([](nn::HybridSequential& net) {
       nn::HybridSequential inner({.prefix = ""});
       {
         auto scope = inner.name_scope();
         inner.add(nn::Dense(2));
       }
       net.add(inner, nn::Dense(3));
     }),
     4},
    {"a layer with a prefix", with_scope<nn::HybridSequential>([](nn::HybridSequential& net) {
       net.add(nn::Dense(2, {.prefix = "fc_"}));
     }),
     2},
    {"a program's class, with a parameter and a constant",
     [](const BlockOptions& o) { return std::make_shared<Net>(o); }, 6},
    {"several of a program's class in one add()",
     with_scope<nn::HybridSequential>([](nn::HybridSequential& net) { net.add(Net(), Net(), Net()); }), 18},
    {"normalisation", with_scope<nn::HybridSequential>([](nn::HybridSequential& net) {
       net.add(nn::InstanceNorm(), nn::GroupNorm(), nn::PReLU(), nn::Conv2DTranspose(2, {3, 3}));
     }),
     7},
    {"RNNCell", cells<rnn::RNNCell>(), 12},
    {"LSTMCell", cells<rnn::LSTMCell>(), 12},
    {"GRUCell", cells<rnn::GRUCell>(), 12},
    {"BidirectionalCell", with_scope<rnn::HybridSequentialRNNCell>([](rnn::HybridSequentialRNNCell& s) {
       s.add(rnn::BidirectionalCell(rnn::LSTMCell(3), rnn::LSTMCell(5)), rnn::GRUCell(3));
     }),
     12},
    {"recurrent layers", with_scope<nn::HybridSequential>([](nn::HybridSequential& net) {
       net.add(rnn::LSTM(3, {.num_layers = 2, .bidirectional = true}), rnn::GRU(2), nn::Dense(2));
     }),
     22},
    {"HybridConcurrent",
     [](const BlockOptions& options) {
       auto net = std::make_shared<nn::HybridConcurrent>(-1, options);
       auto scope = net->name_scope();
       net->add(nn::Dense(2), nn::Dense(3));
       return net;
     },
     4},
    {"a network of the model zoo",
     [](const BlockOptions& o) {
       return std::make_shared<model_zoo::vision::VisionModel>(
           model_zoo::vision::squeezenet1_0({.classes = 4, .prefix = o.prefix, .params = o.params}));
     },
     52},
};

}  // namespace

TEST_CASE("children inherit the dictionary that a block shares", "[shared_scope]") {
  for (const Case& c : cases) {
    INFO(c.name);
    const auto a = c.make({.prefix = "a_"});
    const ParameterDict of_a = a->collect_params();
    const std::vector<std::string> names = of_a.keys();
    const auto b = c.make({.prefix = "b_", .params = &of_a});
    CHECK(own(*b, *a).empty());
    CHECK(b->collect_params().keys() == names);
    CHECK(names.size() == c.parameters);
    CHECK(a->collect_params().keys() == names);  // the sharing has renamed none
    const ParameterDict of_b = b->collect_params();
    const auto third = c.make({.prefix = "c_", .params = &of_b});
    CHECK(own(*third, *a).empty());
    CHECK(third->collect_params().keys() == names);
    // Without the dictionary nothing is shared.
    CHECK(own(*c.make({.prefix = "d_"}), *a).size() == names.size());
  }
}

namespace {

void add_layers(nn::HybridSequential& net, std::int64_t first, std::int64_t second, std::int64_t in = 0) {
  auto scope = net.name_scope();
  net.add(nn::Dense(first, {.in_units = in}), nn::Dense(second));
}

}  // namespace

TEST_CASE("networks that share compute and train the same weights", "[shared_scope]") {
  for (const bool compiled : {false, true})
    for (const bool called_before : {false, true}) {
      nn::HybridSequential a({.prefix = "a_"});
      add_layers(a, 4, 2);
      a.initialize(init::Uniform(1));
      const Tensor x = random::uniform(-1, 1, {3, 5});
      if (called_before) a(x);
      const ParameterDict of_a = a.collect_params();
      nn::HybridSequential b({.params = &of_a});
      add_layers(b, 4, 2);
      if (compiled) a.hybridize(), b.hybridize();
      const Tensor y = b(x);  // where a was not called, this call determines the shapes
      CHECK(a(x).to_vector<float>() == y.to_vector<float>());
      CHECK(a[0].as<nn::Dense>().weight.shape() == Shape{4, 5});

      Trainer trainer(b.collect_params(), "sgd", {.learning_rate = 0.5});
      Tensor loss;
      {
        const autograd::Record record;
        loss = b(x).sum();
      }
      loss.backward();
      trainer.step(1);
      CHECK(a(x).to_vector<float>() != y.to_vector<float>());
      CHECK(a(x).to_vector<float>() == b(x).to_vector<float>());
      b.cast(DType::f64);
      CHECK(a[1].as<nn::Dense>().bias.dtype() == DType::f64);
    }
}

TEST_CASE("what the dictionary does not have is the network's own", "[shared_scope]") {
  nn::HybridSequential a({.prefix = "a_"});
  add_layers(a, 4, 2);
  using Names = std::vector<std::string>;

  const ParameterDict all = a.collect_params(), weights = a.collect_params(".*weight"), none = a.params();
  nn::HybridSequential more({.params = &all});
  add_layers(more, 4, 2);
  {
    auto scope = more.name_scope();
    more.add(nn::Dense(9));
  }
  CHECK(own(more, a) == Names{"a_dense2_weight", "a_dense2_bias"});
  nn::HybridSequential half({.params = &weights});
  add_layers(half, 4, 2);
  CHECK(own(half, a) == Names{"a_dense0_bias", "a_dense1_bias"});
  nn::HybridSequential outer({.params = &none});  // params() has no parameters of children
  add_layers(outer, 4, 2);
  CHECK(own(outer, a).size() == 4);
  nn::HybridSequential outside({.params = &all});  // a layer made outside of the scope
  outside.add(nn::Dense(4));
  CHECK(own(outside, a).size() == 2);

  more.initialize(init::One());
  CHECK(a[0].as<nn::Dense>().weight.is_deferred());
  more(ones({2, 3}));
  CHECK(a[0].as<nn::Dense>().weight.data().to_vector<float>() == std::vector<float>(12, 1));
  CHECK(a[0].as<nn::Dense>().bias.data().to_vector<float>() == std::vector<float>(4, 0));
}

TEST_CASE("shapes and values that contradict the shared ones are errors", "[shared_scope]") {
  nn::HybridSequential a({.prefix = "a_"});
  add_layers(a, 4, 2, 5);
  const ParameterDict of_a = a.collect_params();
  const auto message = [&](std::int64_t first, std::int64_t second, std::int64_t in) {
    nn::HybridSequential b({.params = &of_a});
    add_layers(b, first, second, in);
    try {
      b.initialize();
    } catch (const Error& e) {
      CHECK_THROWS_WITH(b(ones({1, 5})), Contains("already"));  // as often as it is used
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message(4, 2, 5).empty());
  CHECK(message(4, 2, 0).empty());
  CHECK_THAT(message(4, 2, 6), Contains("shared_scope_test.cpp") && Contains("a_dense0_weight") &&
                                   Contains("its shape is (4, 5), not (4, 6)"));
  CHECK_THAT(message(3, 2, 0), Contains("a_dense0_weight") && Contains("(4, 5), not (3, 0)"));
  CHECK_THAT(message(4, 3, 0), Contains("a_dense1_weight") && Contains("(2, 0), not (3, 0)"));

  struct WithConstant : HybridBlock {
    Constant c{"", zeros({1})};
    WithConstant(double value, const BlockOptions& options) : HybridBlock(options) {
      nn::HybridSequential inner;
      auto scope = name_scope();
      c = nn::HybridSequential().params().get_constant("c", full({2}, value));
    }
    Tensor hybrid_forward(F&, const Tensor& x) override { return x * c; }
  };
  const WithConstant one(1, {.prefix = "a_"});
  ParameterDict shared("a_");
  shared.add(one.c);
  const WithConstant same(1, {.prefix = "b_", .params = &shared}), other(2, {.params = &shared});
  CHECK(same.c == one.c);
  CHECK_THROWS_WITH(other.c.data(), Contains("not a constant of this value"));
}
