// Bound calls on a GPU are graphs: one launch, and nothing else, by the calls that the emulated device
// counts; with the bits of calls step by step.
#include "driver_calls.h"
#include "function_net.h"

using namespace kiln;
using namespace kiln::ptx;
using Catch::Matchers::Contains;

namespace {

const Device gpu0 = cuda(0);

/// The driver's calls that runs make.
struct Asked {
  Calls kernels{"cuLaunchKernel"}, graphs{"cuGraphLaunch"}, made{"cuGraphInstantiate_v2"},
      allocations{"cuMemAlloc_v2"}, streams{"cuStreamSynchronize"}, events{"cuEventSynchronize"},
      copies{"cuMemcpyDtoDAsync_v2"}, uploads{"cuMemcpyHtoDAsync_v2"};
  void reset() {
    for (Calls* const c : {&kernels, &graphs, &made, &allocations, &streams, &events, &copies, &uploads})
      (*c)();
  }
};

Tensor normal(const Shape& shape) {
  const DeviceScope scope(gpu0);
  return random::normal(0, 1, shape);
}

/// Runs of a bound call of `body` and of the network that is not hybridized, with the same random numbers and
/// the same writes into copies of `in`. Equal bits: results, arguments and the random numbers that follow.
/// `between` changes the arguments between two runs.
void check_runs(const Net::Body& body, const Tensors& in, const std::function<void(Tensors&)>& between = {}) {
  const auto copies = [&] {
    Tensors all;
    for (const Tensor& t : in) all.push_back(t.copy());
    return all;
  };
  std::vector<Tensors> expected;
  Tensor next;
  const auto keep = [&](const Tensors& results, const Tensors& arguments) {
    Tensors all;
    for (const Tensors* const list : {&results, &arguments})
      for (const Tensor& t : *list) all.push_back(t.to(cpu()));
    return all;
  };
  Tensors arguments = copies();
  Net eager(body);
  random::seed(5);
  for (int i = 0; i < 4; ++i) {
    const Tensors results = eager(arguments);
    expected.push_back(keep(results, arguments));
    if (between) between(arguments);
  }
  next = random::uniform(0, 1, {3});

  Net net(body);
  net.hybridize();
  Tensors bound_arguments = copies();
  BoundCall step = net.bind(bound_arguments);
  random::seed(5);
  Calls graphs("cuGraphLaunch");
  for (int i = 0; i < 4; ++i) {
    const Tensors got = keep(step.run(), bound_arguments);
    REQUIRE(got.size() == expected[static_cast<std::size_t>(i)].size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      CAPTURE(i, k);
      CHECK(same_bits(got[k], expected[static_cast<std::size_t>(i)][k]));
    }
    if (between) between(bound_arguments);
  }
  CHECK(graphs() >= 4);
  CHECK(same_bits(random::uniform(0, 1, {3}), next));
}

}  // namespace

TEST_CASE("a run of a bound call is one launch of a graph") {
  Net net([](F& f, const Tensors& in) {
    return Tensors{f.softmax(f.dot(f.relu(in[0]), in[1])), f.sum(in[0], {.axis = 0})};
  });
  net.hybridize();
  const Tensors in{normal({33, 40}), normal({40, 21})};
  const Tensors expected = net(in);
  BoundCall step = net.bind(in);
  Asked asked;
  step.run();
  CHECK(asked.made() == 1);
  asked.reset();
  for (int i = 0; i < 5; ++i) step.run();
  CHECK(asked.graphs() == 5);
  CHECK(asked.kernels() == 0);
  CHECK(asked.made() == 0);
  CHECK(asked.allocations() == 0);
  CHECK(asked.streams() + asked.events() == 0);
  CHECK(asked.copies() + asked.uploads() == 0);
  for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(step.results()[i].to(cpu()), expected[i].to(cpu())));
}

TEST_CASE("a graph reads new contents, and other arrays once they stay") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.dot(in[0], in[0]) - in[1]}; });
  net.hybridize();
  const auto filled = [](double value) { return full({3, 3}, value).to(gpu0); };
  Tensor a = filled(1);
  const Tensor b = filled(2), c = filled(3);
  BoundCall step = net.bind({a, b});
  CHECK(step().to_vector<float>() == std::vector<float>(9, 1));
  a[slice()] = 2;
  CHECK(step().to_vector<float>() == std::vector<float>(9, 10));
  Asked asked;
  // Arrays that change with each run are launched kernel by kernel.
  for (int i = 0; i < 3; ++i) {
    step.set_inputs({a, i % 2 == 0 ? c : b});
    CHECK(step().to_vector<float>() == std::vector<float>(9, i % 2 == 0 ? 9 : 10));
  }
  CHECK(asked.graphs() + asked.made() == 0);
  CHECK(asked.kernels() > 0);
  for (int i = 0; i < 3; ++i) CHECK(step().to_vector<float>() == std::vector<float>(9, 9));
  CHECK(asked.made() == 1);
  CHECK(asked.graphs() == 3);
  CHECK(asked.kernels() == 0);
}

TEST_CASE("a graph draws the random numbers of calls") {
  check_runs(
      [](F& f, const Tensors& in) {
        return Tensors{in[0] * F::random::uniform(-1, 1, {7, 5})};
      },
      {normal({7, 5})});
  const autograd::TrainMode train;
  check_runs(
      [](F& f, const Tensors& in) {
        return Tensors{f.Dropout(in[0], {.p = 0.5}), f.sum(in[0])};
      },
      {normal({40, 30})});
}

TEST_CASE("loops, branches and checks run between graphs") {
  using Results = F::contrib::Results;
  check_runs(
      [](F& f, const Tensors& in) {
        const Tensor x = in[0] * 2;
        const Results loop = f.contrib().foreach (
            [&](const Tensors& row, const Tensors& states) {
              const Tensor next = states[0] + row[0] * x.sum();
              return Results{{next * 2}, {next}};
            },
            {x}, {in[1]});
        return Tensors{loop.outputs[0] + 1, f.tanh(loop.states[0])};
      },
      {normal({4, 5}), normal({5})});
  check_runs(
      [](F& f, const Tensors& in) {
        const Tensor x = in[0] + 1;
        const Tensors y = f.contrib().cond(
            f.sum(in[1]) > 0, [&] { return Tensors{x * 3}; }, [&] { return Tensors{f.exp(x)}; });
        return Tensors{y[0] - 1};
      },
      {normal({6}), ones({2}).to(gpu0)}, [](Tensors& in) { in[1] *= -1; });
  check_runs([](F& f, const Tensors& in) { return Tensors{f.take(in[0] * 2, in[1], {.mode = "raise"}) + 1}; },
             {normal({6, 2}), ones({3}, DType::i32).to(gpu0)}, [](Tensors& in) { in[1] += 1; });
}

TEST_CASE("an index out of range ends a run between graphs, and the next one is whole") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.take(in[0] * 2, in[1], {.mode = "raise"}) + 1}; });
  net.hybridize();
  Tensor indices = ones({1}, DType::i32).to(gpu0);
  BoundCall step = net.bind({ones({6}).to(gpu0), indices});
  CHECK(step().item<float>() == 3);
  indices[slice()] = 6;
  CHECK_THROWS_WITH(step(), Contains("the index 6") && Contains("bound_graph_test.cpp:"));
  indices[slice()] = 5;
  CHECK(step().item<float>() == 3);
}

TEST_CASE("graphs write into arguments and parameters") {
  check_runs(
      [](F&, const Tensors& in) {
        Tensor a = in[0];
        a *= in[1];
        a += 1;
        return Tensors{a - 2};
      },
      {normal({9}), normal({9})});
  nn::BatchNorm norm({.in_channels = 3, .prefix = "n_"});
  const DeviceScope scope(gpu0);
  norm.initialize();
  norm.hybridize();
  const Tensor x = random::normal(1, 2, {5, 3});
  const autograd::TrainMode train;
  const auto mean = [&] { return norm.running_mean.data().to(cpu()); };
  std::vector<Tensor> expected;
  for (int i = 0; i < 3; ++i) norm(x), expected.push_back(mean());
  norm.running_mean.set_data(zeros({3}));
  norm.running_var.set_data(ones({3}));
  BoundCall step = norm.bind({x});
  for (const Tensor& e : expected) {
    step();
    CHECK(same_bits(mean(), e));
  }
}

TEST_CASE("a weight that is packed for a graph is packed anew when it changes") {
  const DeviceScope scope(gpu0);
  nn::Dense net(40, {.use_bias = false, .in_units = 33});
  net.initialize(init::One());
  net.hybridize();
  BoundCall step = net.bind({ones({20, 33})});
  for (int i = 1; i <= 4; ++i) {
    net.weight.set_data(full({40, 33}, i));
    for (int repeat = 0; repeat < 2; ++repeat)
      CHECK(step().to_vector<float>() == std::vector<float>(800, static_cast<float>(33 * i)));
  }
}

TEST_CASE("an error of a graph names its kernels, and the call runs again") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.dot(f.sigmoid(in[0]), in[0])}; });
  net.hybridize();
  const Tensor x = ones({8, 8}).to(gpu0);
  BoundCall step = net.bind({x});
  const Tensor expected = step().to(cpu());
  CHECK_THAT(error_of_next_launch([&] { step(); }),
             Contains("CUDA_ERROR_LAUNCH_FAILED") && Contains("bound_graph_test.cpp:"));
  CHECK(same_bits(step().to(cpu()), expected));
}

TEST_CASE("a profile sees the steps of a bound call") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.softmax(f.dot(in[0], in[0]))}; });
  net.hybridize();
  BoundCall step = net.bind({ones({16, 16}).to(gpu0)});
  step();
  const Profile profile;
  step();
  CHECK(profile.kernels().size() >= 2);
}

TEST_CASE("a graph keeps its temporaries until it goes") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.dot(f.dot(in[0], in[0]), in[0])}; });
  net.hybridize();
  const Tensor x = ones({64, 64}).to(gpu0);
  net(x);
  const auto arenas = [] { return memory_report(gpu0).arena_bytes; };
  const auto before = arenas();
  {
    BoundCall step = net.bind({x});
    CHECK(arenas() == before);
    step();
    CHECK(arenas() >= before + 64 * 64 * 4);
  }
  CHECK(arenas() == before);
}
