// Bound calls: the bits of a call, on what its arrays hold, without its allocations.
#include "counted_allocations.h"
#include "frontend/tensor/array.h"
#include "function_net.h"

using namespace kiln;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;

namespace {

/// On its device, which Tensor::data() does not give for a GPU.
const void* address(const Tensor& t) { return detail::TensorAccess::data(t); }

nn::HybridSequential mlp() {
  nn::HybridSequential net({.prefix = "m_"});
  auto scope = net.name_scope();
  net.add(nn::Dense(64, {.activation = "relu"}), nn::Dense(8, {.activation = "tanh"}), nn::Dense(2));
  net.initialize(init::Xavier());
  return net;
}

nn::Dense ones_dense() {
  nn::Dense net(2, {.in_units = 2, .prefix = "d_"});
  net.initialize(init::One());
  net.hybridize();
  return net;
}

}  // namespace

TEST_CASE("a bound call gives the bits of an eager one") {
  auto net = mlp();
  Tensor x = zeros({33, 40});
  const std::vector<Tensor> data{random::normal(0, 1, x.shape()), random::normal(0, 1, x.shape())};
  Tensors expected;
  for (const Tensor& d : data) expected.push_back(net(d));
  net.hybridize();
  auto step = net.bind({x});
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    for (std::size_t i = 0; i < data.size(); ++i) {
      x[slice()] = data[i];
      CHECK(same_bits(step(), expected[i]));
    }
  }
}

TEST_CASE("a bound call of several tensors gives several") {
  const auto body = [](F& f, const Tensors& in) {
    const Tensor y = f.softmax(in[0] * in[1]);
    return Tensors{y, f.sum(y, {.axis = 0}), in[0]};
  };
  const Tensors in{random::normal(0, 1, {300, 301}), random::normal(0, 1, {301})};
  const Tensors expected = everywhere(body, in);
  Net net(body);
  net.hybridize();
  auto step = net.bind(in);
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    const Tensors& got = step.run();
    REQUIRE(got.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(got[i], expected[i]));
  }
  CHECK(address(step.results()[2]) == address(in[0]));
  CHECK_THROWS_WITH(step(), Contains("gives 3 tensors") && Contains("bind_test.cpp:"));
}

TEST_CASE("a bound call sees what parameters became") {
  auto net = ones_dense();
  auto step = net.bind({ones({1, 2})});
  CHECK(step().to_vector<float>() == Floats{2, 2});
  net.weight.set_data(full({2, 2}, 3));
  CHECK(step().to_vector<float>() == Floats{6, 6});
  Tensor inside = net.weight.data();
  inside[0] = 0;
  CHECK(step().to_vector<float>() == Floats{0, 6});
  net.weight.initialize(init::Zero(), {}, /*force_reinit=*/true);
  CHECK(step().to_vector<float>() == Floats{0, 0});
  net.cast(DType::f64);
  CHECK_THROWS_WITH(step(), Contains("d has changed since its call was bound"));
}

TEST_CASE("results are written over, and copies are kept") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0] * 2}; });
  net.hybridize();
  Tensor x = ones({3});
  auto step = net.bind({x});
  const Tensor y = step(), kept = y.copy();
  const void* const at = address(y);
  x[slice()] = 5;
  step();
  CHECK(y.to_vector<float>() == Floats{10, 10, 10});
  CHECK(kept.to_vector<float>() == Floats{2, 2, 2});
  CHECK(address(step()) == at);
  CHECK(net.runs() == 1);
}

TEST_CASE("a weight that a bound call writes is packed anew") {
  Net twice([](F&, const Tensors& in) { return Tensors{in[0] * 2}; });
  twice.hybridize();
  auto weight = twice.bind({ones({2, 2})});
  const Tensor w = weight();
  Net product([w](F& f, const Tensors& in) { return Tensors{f.dot(in[0], w)}; });
  product.hybridize();
  auto step = product.bind({ones({1, 2})});
  CHECK(step().to_vector<float>() == Floats{4, 4});
  weight.set_inputs({full({2, 2}, 3)});
  weight();
  CHECK(step().to_vector<float>() == Floats{12, 12});
}

TEST_CASE("bound calls draw and train as calls do") {
  nn::HybridSequential net({.prefix = "t_"});
  net.add(nn::Dropout(0.5), nn::BatchNorm({.in_channels = 4}));
  net.initialize();
  net.hybridize();
  const autograd::TrainMode train;
  const Tensor x = random::normal(0, 1, {6, 4});
  const auto mean = [&] { return net[1].as<nn::BatchNorm>().running_mean.data().copy(); };

  random::seed(7);
  const Tensors called{net(x), net(x)};
  const Tensor next = random::uniform(0, 1, {3}), mean_called = mean();
  net[1].as<nn::BatchNorm>().running_mean.set_data(zeros({4}));
  net[1].as<nn::BatchNorm>().running_var.set_data(ones({4}));
  auto step = net.bind({x});
  random::seed(7);
  for (const Tensor& expected : called) CHECK(same_bits(step(), expected));
  CHECK(same_bits(random::uniform(0, 1, {3}), next));
  CHECK(same_bits(mean(), mean_called));

  const autograd::TrainMode predict(false);
  CHECK_THROWS_WITH(step(), Contains("bound for training"));
}

TEST_CASE("a bound call ends the history of its results") {
  const auto body = [](F&, const Tensors& in) { return Tensors{in[0] * 2}; };
  Net net(body);
  net.hybridize();
  const Tensor x = ones({3});
  Tensor w = ones({3});
  w.attach_grad();
  auto step = net.bind({x});
  Tensor r = step();
  {
    const autograd::Record record;
    r += w;
  }
  CHECK(autograd::is_recorded(r));
  step();
  CHECK_FALSE(autograd::is_recorded(r));
  {
    const autograd::Record record;
    const Tensor z = r * 3 + w;
    z.backward();
  }
  CHECK(w.grad().to_vector<float>() == Floats{1, 1, 1});
}

TEST_CASE("a bound call allocates nothing") {
  const ThreadLimit limit(1);
  auto net = mlp();
  net.hybridize();
  auto step = net.bind({ones({16, 40})});
  step();
  if (!step.results()[0].device().is_cpu()) return;  // a GPU's driver allocates as it likes
  const MemoryReport memory = memory_report();
  const std::size_t before = Allocations::made;
  for (int i = 0; i < 10; ++i) step();
  const std::size_t after = Allocations::made;
  CHECK(after == before);
  CHECK(memory_report().live_bytes == memory.live_bytes);
  CHECK(memory_report().pooled_bytes == memory.pooled_bytes);
  net(ones({16, 40}));
  if (allocations_counted) CHECK(Allocations::made > after);
}

TEST_CASE("other arrays can be bound to the same call") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0] - in[1]}; });
  net.hybridize();
  const Tensor a = full({2}, 5), b = ones({2});
  auto step = net.bind({a, b});
  CHECK(step().to_vector<float>() == Floats{4, 4});
  step.set_inputs({b, a});
  CHECK(step().to_vector<float>() == Floats{-4, -4});
  CHECK(address(step.inputs()[0]) == address(b));
  auto further = net.bind({step.results()[0], a});
  CHECK(further().to_vector<float>() == Floats{-9, -9});

  CHECK_THROWS_WITH(step.set_inputs({a, ones({3})}), Contains("bound to float32 (2,), float32 (2,)") &&
                                                         Contains("cannot take float32 (2,), float32 (3,)") &&
                                                         Contains("bind_test.cpp:"));
  CHECK_THROWS_WITH(step.set_inputs({a, ones({2}, DType::f64)}), Contains("float64 (2,)"));
  CHECK_THROWS_WITH(step.set_inputs({a}), Contains("cannot take float32 (2,)"));
  CHECK_THROWS_WITH(step.set_inputs({a, a}), Contains("alias each other differently"));
  CHECK_THROWS_WITH(step.set_inputs({a, step.results()[0]}), Contains("its own result"));
  CHECK_THROWS_WITH(step.set_inputs({a, Tensor()}), Contains("cannot replace"));
  CHECK(step().to_vector<float>() == Floats{-4, -4});
}

TEST_CASE("a bound call outlives its block") {
  const auto bound = [] {
    auto net = ones_dense();
    return net.bind({ones({1, 2})});
  };
  auto step = bound();
  CHECK(step().to_vector<float>() == Floats{2, 2});
  auto net = ones_dense();
  auto kept = net.bind({ones({1, 2})});
  net.hybridize(false);
  CHECK(kept().to_vector<float>() == Floats{2, 2});
}

TEST_CASE("what cannot be bound is said") {
  nn::Dense net(2, {.prefix = "d_"});
  const Tensor x = ones({1, 2});
  CHECK_THROWS_WITH(net.bind({x}), Contains("hybridize() the block d first") && Contains("bind_test.cpp:"));
  net.hybridize();
  CHECK_THROWS_WITH(net.bind({x}), Contains("'d_weight' has not been initialized"));
  net.initialize();
  CHECK_THROWS_WITH(net.bind({}), Contains("no tensor"));
  CHECK_THROWS_WITH(net.bind({Tensor()}), Contains("undefined Tensor"));
  CHECK(net.bind({x})().shape() == Shape{1, 2});

  auto hook = net.register_forward_hook([](Block&, const Tensors&, const Tensors&) {});
  CHECK_THROWS_WITH(net.bind({x}), Contains("has hooks"));
  hook.detach();
  auto step = net.bind({x});

  Net writes([](F&, const Tensors& in) {
    Tensor a = in[0];
    a += 1;
    return Tensors{a + in[1]};
  });
  writes.hybridize();
  CHECK_THROWS_WITH(writes.bind({x, x}), Contains("cannot be bound"));

  Net outer([&](F&, const Tensors&) { return Tensors{step()}; });
  outer.hybridize();
  CHECK_THROWS_WITH(outer(x), Contains("cannot be traced"));
}
