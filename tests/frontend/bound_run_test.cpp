// Runs of bound calls for threads with deadlines: memory, warm-up, and runs with a status.
#include "counted_allocations.h"
#include "function_net.h"

#include <string>
#include <thread>
#include <utility>

using namespace kiln;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Floats = std::vector<float>;

namespace {

nn::HybridSequential mlp() {
  nn::HybridSequential net;
  net.add(nn::Dense(64, {.activation = "relu"}), nn::Dense(8, {.activation = "tanh"}), nn::Dense(2));
  net.initialize(init::Xavier());
  net.hybridize();
  return net;
}

nn::Dense ones_dense() {
  nn::Dense net(2, {.in_units = 2, .prefix = "d_"});
  net.initialize(init::One());
  net.hybridize();
  return net;
}

}  // namespace

TEST_CASE("a bound call keeps the memory of its temporaries") {
  nn::HybridSequential net;
  net.add(nn::Dense(512), nn::LayerNorm(), nn::Dense(512), nn::LayerNorm(), nn::Dense(1));
  net.initialize();
  net.hybridize();
  const Tensor x = ones({64, 512});
  net(x);
  if (!x.device().is_cpu()) return;  // a GPU's are the graphs'
  const std::size_t before = memory_report().arena_bytes, needed = net.compiled_calls().front().arena_bytes;
  REQUIRE(needed > 0);
  {
    BoundCall step = net.bind({x});
    const std::size_t bound = memory_report().arena_bytes;
    CHECK(bound >= before + needed);
    const BoundCall copy = step;
    step();
    CHECK(memory_report().arena_bytes == bound);
  }
  CHECK(memory_report().arena_bytes == before);
}

TEST_CASE("a warm-up changes nothing that a program sees") {
  nn::HybridSequential net({.prefix = "w_"});
  net.add(nn::Dense(8), nn::BatchNorm({.in_channels = 8}), nn::Dropout(0.5));
  net.initialize(init::Xavier());
  net.hybridize();
  const Tensor x = random::normal(0, 1, {16, 4});
  const autograd::TrainMode train;
  BoundCall step = net.bind({x});
  const Tensor kept = step().copy();
  auto& norm = net[1].as<nn::BatchNorm>();
  const Tensor mean = norm.running_mean.data().copy(), weight = net[0].as<nn::Dense>().weight.data().copy();
  const random::State state = random::state();
  const Profile profile;
  step.warm_up();
  CHECK(profile.kernels().empty());
  CHECK(random::state().program.counter == state.program.counter);
  CHECK(same_bits(step.results()[0], kept));
  CHECK(same_bits(norm.running_mean.data(), mean));
  CHECK(same_bits(net[0].as<nn::Dense>().weight.data(), weight));

  // The next run is the one that it would have been.
  const Tensor after = step().copy(), mean_after = norm.running_mean.data().copy();
  norm.running_mean.set_data(mean);
  random::restore(state);
  CHECK(same_bits(net(x), after));
  CHECK(same_bits(norm.running_mean.data(), mean_after));
}

TEST_CASE("a warm-up leaves an input that the network writes") {
  Net net([](F&, const Tensors& in) {
    Tensor a = in[0];
    a += 1;
    return Tensors{a * 2};
  });
  net.hybridize();
  Tensor x = ones({3});
  BoundCall step = net.bind({x});
  step.warm_up();
  CHECK(x.to_vector<float>() == Floats{1, 1, 1});
  CHECK(step().to_vector<float>() == Floats{4, 4, 4});
  CHECK(x.to_vector<float>() == Floats{2, 2, 2});
}

TEST_CASE("the first run after a warm-up allocates nothing, on any thread") {
  auto net = mlp();
  Tensor x = ones({16, 40});
  if (!x.device().is_cpu()) return;
  BoundCall step = net.bind({x});
  std::size_t made = 1;
  std::thread([&] {
    const ThreadLimit limit(1);
    step.warm_up();
    const std::size_t before = Allocations::made;
    step();
    made = Allocations::made - before;
  }).join();
  CHECK(made == 0);
  // It is the warm-up that packs the weights.
  net[0].as<nn::Dense>().weight.set_data(ones({64, 40}));
  const std::size_t before = Allocations::made;
  step();
  if (allocations_counted) CHECK(Allocations::made > before);
}

TEST_CASE("a bound call reads the packed weights of its parameters' latest values") {
  auto net = ones_dense();
  const Tensor x = ones({1, 2});
  BoundCall a = net.bind({x}), b = net.bind({x});
  a.warm_up();
  CHECK(a().to_vector<float>() == Floats{2, 2});
  CHECK(b().to_vector<float>() == Floats{2, 2});
  for (const float value : {3.0F, 4.0F}) {
    net.weight.set_data(full({2, 2}, value));
    CHECK(b().to_vector<float>() == Floats{2 * value, 2 * value});  // packs the weight
    CHECK(a().to_vector<float>() == Floats{2 * value, 2 * value});
  }
}

TEST_CASE("try_run() says why a call did not run") {
  static_assert(noexcept(std::declval<BoundCall&>().try_run()));
  using Code = RunStatus::Code;
  auto net = ones_dense();
  const Tensor x = ones({1, 2});
  BoundCall step = net.bind({x});
  CHECK(step.try_run());
  CHECK(step.try_run().code() == Code::ok);
  CHECK(step.try_run().message() == std::string());
  CHECK(step.results()[0].to_vector<float>() == Floats{2, 2});

  std::size_t made = 1;
  const auto status = [&] {
    const std::size_t before = Allocations::made;
    const RunStatus s = step.try_run();
    made = Allocations::made - before;
    return s;
  };
  {
    const autograd::Record record;
    CHECK(status().code() == Code::recording);
    CHECK(made == 0);
    CHECK_THAT(step.try_run().message(), Contains("A bound call of d is not recorded"));
  }
  {
    const autograd::TrainMode train;
    CHECK(status().code() == Code::other_mode);
    CHECK(made == 0);
    CHECK_THAT(step.try_run().message(), Contains("bound for prediction"));
  }
  npx::set_np();
  CHECK(status().code() == Code::other_mode);
  CHECK(made == 0);
  CHECK_THAT(step.try_run().message(), Contains("outside of numpy mode"));
  npx::reset_np();
  Code traced = Code::ok;
  Net outer([&](F&, const Tensors& in) {
    traced = status().code();
    CHECK(made == 0);
    return Tensors{in[0] + 1};
  });
  outer.hybridize();
  outer(x);
  CHECK(traced == Code::traced);
  CHECK(step.try_run());
  net.cast(DType::f64);
  CHECK(status().code() == Code::changed);
  CHECK(made == 0);
  CHECK_FALSE(step.try_run());
  const std::string changed = step.try_run().message();
  CHECK_THAT(changed,
             Contains("d has changed since its call was bound") && EndsWith("bind it again [KL0209]"));
  std::string thrown, code;
  try {
    step.run();
  } catch (const Error& e) {
    thrown = e.what();
    code = e.code();
  }
  CHECK_THAT(thrown, EndsWith(changed));
  CHECK(code == "KL0209");
}

TEST_CASE("try_run() gives the message of a value that is refused") {
  Net net([](F& F, const Tensors& in) { return Tensors{F.take(in[0] * 1, in[1], {.mode = "raise"}) + 1}; });
  net.hybridize();
  const Tensor table = arange(6).reshape({3, 2});
  Tensor indices = zeros({2, 2});
  BoundCall step = net.bind({table, indices});
  if (!table.device().is_cpu()) return;
  const ThreadLimit limit(1);
  step.warm_up();
  CHECK(step.try_run());
  CHECK(step.results()[0].to_vector<float>() == Floats{1, 2, 1, 2, 1, 2, 1, 2});
  indices[1][0] = 3;
  const std::size_t before = Allocations::made;
  const RunStatus status = step.try_run();
  CHECK(Allocations::made == before);
  CHECK(status.code() == RunStatus::Code::invalid_value);
  CHECK_THAT(status.message(), Contains("bound_run_test.cpp:") && Contains("the index 3, element (1, 0)") &&
                                   Contains("numbered from 0 to 2"));
  std::string thrown;
  try {
    step.run();
  } catch (const Error& e) {
    thrown = e.what();
  }
  CHECK(thrown == step.try_run().message());
  step.warm_up();  // whatever the inputs hold
  indices[1][0] = 2;
  CHECK(step.try_run());
}

TEST_CASE("a loop in a bound call ends with a value that is refused") {
  Net net([](F& F, const Tensors& in) {
    const auto body = [&](const Tensors& row, const Tensors& state) -> kiln::F::contrib::Results {
      const Tensor next = state[0] + F.take(in[0], row[0], {.mode = "raise"});
      return {{next}, {next}};
    };
    return F.contrib().foreach (body, {in[1]}, {in[2]}).outputs;
  });
  net.hybridize();
  Tensor indices = zeros({3, 1});
  BoundCall step = net.bind({arange(4), indices, zeros({1})});
  step.warm_up();
  indices[1] = 2;
  CHECK(step.try_run());
  CHECK(step.results()[0].to_vector<float>() == Floats{0, 2, 2});
  indices[1] = 9;
  CHECK(step.try_run().code() == RunStatus::Code::invalid_value);
  CHECK_THAT(step.try_run().message(), Contains("the index 9"));
}

TEST_CASE("a message of a network with a long name has its advice and its number, in UTF-8") {
  std::string prefix;
  for (int i = 0; i < 300; ++i) prefix += "é";
  nn::Dense net(2, {.in_units = 2, .prefix = "x" + prefix});  // an even number of bytes would end with one
  net.initialize();
  net.hybridize();
  BoundCall call = net.bind({ones({1, 2})});
  net.cast(DType::f64);
  const std::string message = call.try_run().message();
  CHECK_THAT(message, Contains("bind it again") && Contains("[KL0209]") && Contains("é has changed"));
}

TEST_CASE("a handle that was moved from says so") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0] + 1}; });
  net.hybridize();
  BoundCall first = net.bind({ones({2})});
  BoundCall second = std::move(first);
  CHECK(second.try_run());
  CHECK(first.try_run().code() == RunStatus::Code::moved_from);  // NOLINT: it is the test
  CHECK_THAT(first.try_run().message(), Contains("was moved to another one"));
  CHECK_THROWS_WITH(first.run(), Contains("bound_run_test.cpp:") && Contains("was moved to another one"));
  CHECK_THROWS_WITH(first.warm_up(), Contains("was moved to another one"));
  CHECK_THROWS_WITH(first.results(), Contains("was moved to another one"));
}
