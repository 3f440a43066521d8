// Check: calls that are recorded again, or run eagerly too, and compared.
#include "function_net.h"

#include <kiln/log.h>

using namespace kiln;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;

namespace {

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

struct Scaled : HybridBlock {
  float scale = 2;
  explicit Scaled(const BlockOptions& o = {}) : HybridBlock(o) {}
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    Tensor y = F.relu(x);
    return y * scale;
  }
};

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::user);
    return e.what();
  }
  return "no error";
}

constexpr Check all = Check::recording | Check::bits;

}  // namespace

TEST_CASE("a plain member that has changed is found") {
  for (const Check check : {Check::recording, Check::bits, all}) {
    Scaled net({.prefix = "net_"});
    net.hybridize({.check = check});
    const Tensor x = ones({2});
    CHECK(floats(net(x)) == Floats{2, 2});
    CHECK(floats(net(x)) == Floats{2, 2});
    net.scale = 3;
    const std::string text = error_of([&] { net(x); });
    CHECK_THAT(text, Contains("check_test.cpp:19: net does not compute what was recorded") &&
                         Contains("_mul_scalar") && Contains("scalar was 2.0 and is 3.0 now") &&
                         Contains("Attr<T>") && Contains("hybridize() after the change"));
    net.hybridize({.check = check});
    CHECK(floats(net(x)) == Floats{3, 3});
  }
  Scaled net;
  net.hybridize();
  net(ones({2}));
  net.scale = 3;
  CHECK(floats(net(ones({2}))) == Floats{2, 2});  // as documented for plain members
}

TEST_CASE("whatever else a recording holds is compared") {
  const Tensor x = ones({3});
  const auto changed = [&](Net::Body body, int& state) {
    Net net(std::move(body));
    net.hybridize({.check = Check::recording});
    net(Tensors{x});
    net(Tensors{x});
    ++state;
    return error_of([&] { net(Tensors{x}); });
  };
  int n = 0;
  CHECK_THAT(changed([&](F& F, const Tensors& in) { return Tensors{n ? F.exp(in[0]) : F.log(in[0])}; }, n),
             Contains("the operator was log and is exp now"));
  n = 0;
  CHECK_THAT(changed(
                 [&](F&, const Tensors& in) {
                   Tensor y = in[0] + 1;
                   for (int i = 0; i < n; ++i) y = y * 2;
                   return Tensors{y};
                 },
                 n),
             Contains("the operator was nothing and is _mul_scalar now"));
  n = 0;
  CHECK_THAT(changed(
                 [&](F&, const Tensors& in) {
                   return Tensors{in[0] * Tensor({1, 2, double(n)})};
                 },
                 n),
             Contains("element 2 was 0 (0x00000000) and is 1 (0x3f800000) now"));
  n = 0;
  const Tensor held[] = {ones({3}), zeros({3})};
  CHECK_THAT(changed([&](F&, const Tensors& in) { return Tensors{in[0] * held[n]}; }, n),
             Contains("another array"));
  n = 0;
  CHECK_THAT(changed(
                 [&](F&, const Tensors& in) {
                   const Tensor a = in[0] + 1, b = in[0] + 2;
                   return n ? Tensors{b, a} : Tensors{a, b};
                 },
                 n),
             Contains("result 0"));
  n = 0;
  CHECK_THAT(changed(
                 [&](F&, const Tensors& in) {
                   Tensor a = in[0] + 1;
                   const Tensor b = in[0] + 2;
                   return Tensors{n ? b - a : a - b};
                 },
                 n),
             Contains("input 0"));
}

TEST_CASE("code that reads whether it is recorded is found") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0].is_traced() ? in[0] + 1 : in[0] + 2}; });
  net.hybridize({.check = Check::bits});
  const std::string text = error_of([&] { net(ones({2})); });
  CHECK_THAT(text, Contains("eagerly") && Contains("3 (0x40400000)") && Contains("2 (0x40000000)") &&
                       Contains("is_traced()") && Contains("check_test.cpp:"));
}

TEST_CASE("a checked call does what a call does, once") {
  const Tensor x = random::normal(0, 1, {6, 4});
  Floats results[2], means[2], next[2], written[2];
  for (const bool checked : {false, true}) {
    nn::HybridSequential net;
    net.add(nn::Dropout(0.5));
    net.add(nn::BatchNorm({.in_channels = 4}));
    net.initialize();
    int hooks = 0, of_child = 0;
    net.register_forward_hook([&](Block&, const Tensors&, const Tensors&) { ++hooks; });
    net[0].register_forward_hook([&](Block&, const Tensors&, const Tensors&) { ++of_child; });
    net.hybridize({.check = checked ? all : Check::none});
    const autograd::TrainMode train;
    random::seed(4);
    for (int i = 0; i < 3; ++i) results[checked] = floats(net(x));
    means[checked] = floats(net[1].as<nn::BatchNorm>().running_mean.data());
    next[checked] = floats(random::uniform(0, 1, {3}));
    CHECK(hooks == 3);
    CHECK(of_child == 1);

    Tensor state = zeros({2});
    Net writes([state](F&, const Tensors& in) {
      Tensor s = state, y = in[0];
      s += 1;
      y += s;
      return Tensors{y, y * 2};
    });
    writes.hybridize({.check = checked ? all : Check::none});
    Tensor y = zeros({2});
    for (int i = 0; i < 3; ++i) CHECK(writes(Tensors{y})[0].data() == y.data());
    written[checked] = floats(y);
    CHECK(floats(state) == Floats{3, 3});
  }
  CHECK(results[0] == results[1]);
  CHECK(means[0] == means[1]);
  CHECK(next[0] == next[1]);
  CHECK(written[1] == Floats{6, 6});
}

namespace {

/// A layer and a number that is not tracked.
struct ScaledDense : HybridBlock {
  Child<nn::Dense> layer{this, "layer"};
  float scale = 1;
  ScaledDense() { layer = nn::Dense(2, {.in_units = 3}); }
  Tensor hybrid_forward(F&, const Tensor& x) override { return layer(x) * scale; }
};

}  // namespace

TEST_CASE("a training step in one call has the checks of its network and its loss") {
  const Tensor x = ones({2, 3}), label = zeros({2, 2});
  for (const Check check : {Check::recording, Check::bits, all}) {
    for (const bool of_net : {true, false}) {
      ScaledDense net;
      net.initialize();
      loss::L2Loss loss;
      net.hybridize({.check = of_net ? check : Check::none});
      loss.hybridize({.check = of_net ? Check::none : check});
      Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
      TrainStep step = net.train_step(loss, trainer);
      step(x, label);
      CHECK_FALSE(step.compiled());
      net.scale = 3;
      const Tensor before = net.layer->weight.data().copy();
      const std::string text = error_of([&] { step(x, label); });
      if (of_net) {
        CHECK_THAT(text, Contains("check_test.cpp:") &&
                             Contains(net.name() + " does not compute what was recorded") &&
                             Contains("scalar was 1.0 and is 3.0 now"));
        CHECK(same_bits(net.layer->weight.data(), before));
        CHECK(trainer.num_update() == 1);
      } else {
        CHECK(text == "no error");  // the network has no check
      }
    }
  }
}

TEST_CASE("a training step in one call follows hybridize()") {
  const Tensor x = ones({2, 3}), label = zeros({2, 2});
  ScaledDense net;
  net.initialize();
  loss::L2Loss loss;
  net.hybridize();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0});
  TrainStep step = net.train_step(loss, trainer);
  const Floats once = floats(step(x, label));
  net.scale = 2;
  CHECK(floats(step(x, label)) == once);  // as documented for plain members
  net.hybridize();
  CHECK(floats(step(x, label)) == Floats{once[0] * 4, once[1] * 4});
  CHECK(step.compiled());
  net.hybridize({.check = all});
  CHECK(floats(step(x, label)) == Floats{once[0] * 4, once[1] * 4});
  CHECK_FALSE(step.compiled());
  net.hybridize();
  step(x, label);
  CHECK(step.compiled());
}

// The two cases that follow run by themselves, with KILN_CHECK=recording,colour.
TEST_CASE("KILN_CHECK checks every hybridized call, and lists its words", "[.environment]") {
  std::string said;
  set_log_sink([&](LogLevel, std::string_view line) { said += line; });
  Scaled net;
  net.hybridize();
  net(ones({2}));
  net.scale = 3;
  CHECK_THROWS_WITH(net(ones({2})), Contains("is 3.0 now"));
  CHECK_THAT(said,
             Contains("KILN_CHECK: unknown check \"colour\"") && Contains("recording, bits and indices"));
  set_log_sink({});
}

TEST_CASE("KILN_CHECK checks a step whose network is not hybridized", "[.environment]") {
  const Tensor x = ones({2, 3}), label = zeros({2, 2});
  ScaledDense net;
  net.initialize();
  const loss::L2Loss loss;
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
  TrainStep step = net.train_step(loss, trainer);
  step(x, label);
  step(x, label);
  net.scale = 3;
  CHECK_THROWS_WITH(step(x, label), Contains("check_test.cpp:") && Contains("does not compute what was") &&
                                        Contains("scalar was 1.0 and is 3.0 now"));
  CHECK(trainer.num_update() == 2);
}
