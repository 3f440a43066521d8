// Check::indices and KILN_CHECK=indices: an index out of range is an error, eagerly and compiled. Run twice,
// without the variable and with it.
#include "function_net.h"

#include <cstdlib>

using namespace kiln;
using Catch::Contains;
using Catch::StartsWith;

namespace {

/// Whether KILN_CHECK=indices checks eager calls too.
bool checks_eager_calls() { return std::getenv("KILN_CHECK") != nullptr; }

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::user);
    return e.what();
  }
  return "no error";
}

/// A call by indices, with good ones and with one that is out of range.
struct Indexed {
  std::string op;
  Net::Body body;
  Tensors good, bad;
  std::string index, extent;
};

std::vector<Indexed> calls() {
  const Tensor table = arange(12).reshape({4, 3});
  return {
      {"Embedding",
       [](F& F, const Tensors& in) {
         return Tensors{F.Embedding(in[1], in[0], {.input_dim = 4, .output_dim = 3})};
       },
       {table, Tensor{0, 3}},
       {table, Tensor{0, 4}},
       "4",
       "4"},
      {"take",
       [](F& F, const Tensors& in) { return Tensors{F.take(in[0], in[1])}; },
       {table, Tensor{3, 0}},
       {table, Tensor{-1, 0}},
       "-1",
       "4"},
      {"pick",
       [](F& F, const Tensors& in) { return Tensors{F.pick(in[0], in[1], 1)}; },
       {table, Tensor{0, 1, 2, 0}},
       {table, Tensor{0, 1, 3, 0}},
       "3",
       "3"},
      {"batch_take",
       [](F& F, const Tensors& in) { return Tensors{F.batch_take(in[0], in[1])}; },
       {table, Tensor{0, 1, 2, 0}},
       {table, Tensor{0, 1, -2, 0}},
       "-2",
       "3"},
      {"gather_nd",
       [](F& F, const Tensors& in) { return Tensors{F.gather_nd(in[0], in[1])}; },
       {table, Tensor{{3, -4}, {-1, 0}}},
       {table, Tensor{{3, -4}, {-1, 3}}},
       "3",
       "3"},
      {"scatter_nd",
       [](F& F, const Tensors& in) {
         return Tensors{F.scatter_nd(in[0], in[1], {4, 3})};
       },
       {Tensor{5, 6}, Tensor{{3, 0}, {2, 0}}},
       {Tensor{5, 6}, Tensor{{3, 4}, {2, 0}}},
       "4",
       "4"},
      {"index_copy",
       [](F& F, const Tensors& in) { return Tensors{F.contrib().index_copy(in[0], in[1], in[2])}; },
       {table, Tensor{2, 0}, ones({2, 3})},
       {table, Tensor{2, 9}, ones({2, 3})},
       "9",
       "4"},
      {"ravel_multi_index",
       [](F& F, const Tensors& in) {
         return Tensors{F.ravel_multi_index(in[0], {4, 3})};
       },
       {Tensor{{3, 0}, {2, 1}}},
       {Tensor{{3, 0}, {2, 5}}},
       "5",
       "3"},
      {"softmax_cross_entropy",
       [](F& F, const Tensors& in) { return Tensors{F.softmax_cross_entropy(in[0], in[1])}; },
       {table, Tensor{0, 1, 2, 0}},
       {table, Tensor{0, 1, 2, 7}},
       "7",
       "3"},
      {"pick",
       [loss = loss::SoftmaxCrossEntropyLoss()](kiln::F&, const Tensors& in) {
         return Tensors{loss(in[0], in[1])};
       },
       {table, Tensor{0, 1, 2, 0}},
       {table, Tensor{0, 1, 2, 7}},
       "7",
       "3"},
  };
}

}  // namespace

TEST_CASE("an index out of range is an error that names it", "[indices]") {
  for (const Indexed& c : calls()) {
    INFO(c.op);
    Net eager(c.body), plain(c.body), checked(c.body);
    plain.hybridize();
    checked.hybridize({.check = Check::indices});
    const Tensors expected = eager(c.good);
    CHECK(same_bits(plain(c.good)[0], expected[0]));
    CHECK(same_bits(checked(c.good)[0], expected[0]));
    const auto require_error = [&](Net& net) {
      const std::string text = error_of([&] { net(c.bad); });
      CHECK_THAT(text, StartsWith("index_check_test.cpp:") && Contains(c.op) &&
                           Contains("the index " + c.index + ", element ") &&
                           Contains("has " + c.extent + " elements, numbered from 0 to ") &&
                           !Contains("mode"));  // a check holds for operators without modes, and for clip
    };
    require_error(checked);
    require_error(checked);
    if (checks_eager_calls()) {
      require_error(eager);
      require_error(plain);
    } else {
      CHECK(same_bits(plain(c.bad)[0], eager(c.bad)[0]));
    }
    CHECK(same_bits(checked(c.good)[0], expected[0]));  // an error leaves the network as it was
  }
}

TEST_CASE("a wrong label ends a training step before it changes a weight", "[indices]") {
  nn::HybridSequential net(nn::Embedding(5, 4), nn::Dense(3));
  net.initialize();
  const loss::SoftmaxCrossEntropyLoss loss;
  net.hybridize({.check = Check::indices});
  loss.hybridize({.check = Check::indices});
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
  const auto step = [&](const Tensor& x, const Tensor& label) {
    Tensor l;
    {
      const autograd::Record record;
      l = loss(net(x), label);
    }
    l.backward();
    trainer.step(2);
  };
  step(Tensor{0, 4}, Tensor{0, 2});
  const Tensor before = net[1].as<nn::Dense>().weight.data().copy();
  CHECK_THAT(error_of([&] {
               step(Tensor{0, 4}, Tensor{0, 3});
             }),
             Contains("pick") && Contains("the index 3"));
  CHECK_THAT(error_of([&] {
               step(Tensor{5, 4}, Tensor{0, 2});
             }),
             Contains("Embedding") && Contains("the index 5") && Contains("5 elements"));
  CHECK(same_bits(net[1].as<nn::Dense>().weight.data(), before));
}

TEST_CASE("a step in one call checks the indices of the blocks with Check::indices", "[indices]") {
  const Tensor x{0, 4}, bad_x{5, 4}, label{0, 2}, bad_label{0, 3};
  for (const bool of_net : {true, false}) {
    for (const bool of_loss : {true, false}) {
      nn::HybridSequential net(nn::Embedding(5, 4), nn::Dense(3));
      net.initialize();
      const loss::SoftmaxCrossEntropyLoss loss;
      net.hybridize({.check = of_net ? Check::indices : Check::none});
      loss.hybridize({.check = of_loss ? Check::indices : Check::none});
      Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
      TrainStep step = net.train_step(loss, trainer);
      step(x, label);
      CHECK(step.compiled());
      const Tensor before = net[1].as<nn::Dense>().weight.data().copy();
      const auto check = [&](const Tensor& data, const Tensor& labels, bool throws, const std::string& op) {
        const std::string text = error_of([&] { step(data, labels); });
        if (throws || checks_eager_calls())
          CHECK_THAT(text, StartsWith("index_check_test.cpp:") && Contains(op) && Contains("the index "));
        else
          CHECK(text == "no error");
        CHECK(step.compiled());
        if (text != "no error") CHECK(same_bits(net[1].as<nn::Dense>().weight.data(), before));
        Parameter(net[1].as<nn::Dense>().weight).set_data(before);
      };
      check(bad_x, label, of_net, "Embedding");
      check(x, bad_label, of_loss, "pick");

      // A later hybridize() holds for the next step.
      loss.hybridize({.check = of_loss ? Check::none : Check::indices});
      check(x, bad_label, !of_loss, "pick");
    }
  }
}

TEST_CASE("a step checks the indices of a hybridized block in a network that is not", "[indices]") {
  nn::HybridSequential net(nn::Embedding(5, 4), nn::Dense(3));
  net.initialize();
  net[0].hybridize({.check = Check::indices});
  const loss::SoftmaxCrossEntropyLoss loss;
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
  TrainStep step = net.train_step(loss, trainer);
  step(Tensor{0, 4}, Tensor{0, 2});
  CHECK_THAT(error_of([&] {
               step(Tensor{5, 4}, Tensor{0, 2});
             }),
             Contains("Embedding") && Contains("the index 5"));
}

TEST_CASE("the check of indices changes no gradient", "[indices]") {
  for (const Indexed& c : calls()) {
    INFO(c.op);
    Tensors gradients;
    for (const Check check : {Check::none, Check::indices}) {
      Net net(c.body);
      net.hybridize({.check = check});
      Tensor variable = c.good[0].copy();
      variable.attach_grad();
      Tensors in = c.good;
      in[0] = variable;
      {
        const autograd::Record record;
        net(in)[0].backward();
      }
      gradients.push_back(variable.grad());
    }
    CHECK(same_bits(gradients[0], gradients[1]));
  }
}
