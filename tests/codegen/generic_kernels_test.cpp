// Generic kernels, for any number of rows: they run the sizes of a program until one size has been called a
// few times. product_test compares them with the definition of products (product_generic).
#include "compiled_kernels.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <string_view>
#include <thread>

using namespace kiln;

namespace {

/// A row of 600 is more than a chunk of 512.
constexpr std::int64_t width = 600;

/// Networks with other numbers of units have other kernels.
struct Network {
  std::int64_t hidden, units;
  nn::Dense first{hidden, {.activation = "relu", .in_units = width}};
  nn::Dense last{units, {.activation = "tanh", .in_units = hidden}};
  nn::HybridSequential net;

  explicit Network(std::int64_t hidden_units = 48, std::int64_t last_units = 10)
      : hidden(hidden_units), units(last_units) {
    net.add(first, last);
    net.initialize(init::Normal(0.1));
    net.hybridize();
  }
  Tensor operator()(const Tensor& x) { return net(x); }
  Tensor eager(const Tensor& x) const {
    const Tensor between =
        F::relu(F::FullyConnected(x, first.weight.data(), first.bias.data(), {.num_hidden = hidden}));
    return F::tanh(F::FullyConnected(between, last.weight.data(), last.bias.data(), {.num_hidden = units}));
  }
  /// From the second size on, sizes share kernels.
  void meet_sizes() {
    net(ones({16, width}));
    net(ones({19, width}));
  }
};

Tensor rows(std::int64_t count) { return random::normal(0, 1, {count, width}); }

}  // namespace

TEST_CASE("many sizes share kernels, with the bits of each size's own") {
  Network net;
  std::vector<Tensor> inputs, eager;
  for (std::int64_t m = 2; m <= 60; ++m) {
    inputs.push_back(rows(m));
    eager.push_back(net.eager(inputs.back()));
  }
  // For each layer a kernel and a pack of the first size, and a kernel for all others.
  CHECK(compiled_by([&] {
          for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(same_bits(net(inputs[i]), eager[i]));
        }) <= 6);
  for (const std::size_t i : {0, 1, 2, 3, 5, 11, 12, 13, 40, 58})
    for (int call = 2; call <= 4; ++call) CHECK(same_bits(net(inputs[i]), eager[i]));
}

TEST_CASE("a size has kernels of its own from its third call on") {
  Network net(40, 5);
  net.meet_sizes();
  const Tensor x = rows(27), eager = net.eager(x);
  std::array<std::uint64_t, 4> by_call{};
  for (std::uint64_t& kernels : by_call) kernels = compiled_by([&] { CHECK(same_bits(net(x), eager)); });
  CHECK(by_call == std::array<std::uint64_t, 4>{0, 0, 2, 0});
}

TEST_CASE("a profile tells generic kernels from a size's own") {
  Network net(44, 7);
  net.meet_sizes();
  const Tensor x = rows(29);
  const Profile profile;
  for (int call = 0; call < 4; ++call) net(x);
  std::map<std::string, std::int64_t> runs;
  for (const Profile::Kernel& k : profile.kernels()) CHECK(runs.emplace(k.name, k.runs).second);
  int generic = 0;
  for (const auto& [name, count] : runs) {
    constexpr std::string_view label = " (generic)";
    if (!name.ends_with(label)) continue;
    ++generic;
    CHECK(count == 2);
    CHECK(runs.at(name.substr(0, name.size() - label.size())) == 2);
  }
  CHECK(generic == 2);
}

TEST_CASE("a bound call has kernels of its own at once") {
  Network net(56, 11);
  net.meet_sizes();
  const Tensor x = rows(25), expected = net(x);
  std::optional<BoundCall> bound;
  CHECK(compiled_by([&] { bound.emplace(net.net.bind({x})); }) == 2);
  CHECK(compiled_by([&] { CHECK(same_bits((*bound)(), expected)); }) == 0);
}

TEST_CASE("weights change between calls of either kernels") {
  Network net;
  net.meet_sizes();
  const Tensor x = rows(21);
  for (int call = 1; call <= 5; ++call) {
    CHECK(same_bits(net(x), net.eager(x)));
    net.first.weight.set_data(net.first.weight.data() * 1.5);
  }
}

TEST_CASE("a product that is added in place is added once to each row") {
  nn::Dense dense(8, {.use_bias = false, .in_units = 32});
  dense.initialize(init::Normal(0.1));
  struct Sum : HybridBlock {
    explicit Sum(nn::Dense d) : dense(std::move(d)) { register_child(dense); }
    nn::Dense dense;
    Tensor hybrid_forward(F&, const Tensor& x, const Tensor& sum) override {
      Tensor total = sum.copy();
      for (int i = 0; i < 3; ++i) total += dense(x);
      return total;
    }
  } net(dense);
  for (const std::int64_t m : {9, 5, 6, 7, 3, 2, 1, 15}) {
    const Tensor x = random::normal(0, 1, {m, 32}), sum = random::normal(0, 1, {m, 8});
    net.hybridize(false);
    const Tensor eager = net(x, sum);
    net.hybridize();
    for (int call = 1; call <= 4; ++call) CHECK(same_bits(net(x, sum), eager));
  }
}

TEST_CASE("threads call one size while it gets kernels of its own") {
  Network net;
  net.meet_sizes();
  for (const std::int64_t m : {29, 31, 33}) {
    const Tensor x = rows(m), eager = net.eager(x);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int call = 0; call < 6; ++call) wrong += !same_bits(net(x), eager);
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
  }
}
