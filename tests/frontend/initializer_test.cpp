// Initial values: their distributions, their bits, and the choice of an initializer by name.
#include "counted_allocations.h"
#include "temporary_folder.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>

using namespace kiln;
using Catch::Matchers::Contains;

namespace {

std::vector<double> values(const Initializer& init, const Shape& shape) {
  Parameter p("p", shape);
  p.initialize(init);
  return p.data().to_vector<double>();
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};
Moments moments(const std::vector<double>& v) {
  Moments m;
  for (double x : v) {
    m.mean += x / static_cast<double>(v.size());
    m.largest = std::max(m.largest, std::abs(x));
  }
  for (double x : v) m.deviation += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

}  // namespace

TEST_CASE("initializers give what they say") {
  CHECK(values(init::Zero(), {3}) == std::vector<double>(3, 0));
  CHECK(values(init::One(), {3}) == std::vector<double>(3, 1));
  CHECK(values(init::Constant(0.25), {2, 2}) == std::vector<double>(4, 0.25));
  CHECK(values("ones", {2}) == std::vector<double>(2, 1));

  random::seed(1);
  const Moments uniform = moments(values(init::Uniform(), {200, 300}));
  CHECK(uniform.mean == Approx(0).margin(0.001));
  CHECK(uniform.deviation == Approx(0.07 / std::sqrt(3.0)).epsilon(0.01));
  CHECK(uniform.largest <= 0.07 * 1.0000001);
  const Moments normal = moments(values(init::Normal(2), {200, 301}));
  CHECK(normal.mean == Approx(0).margin(0.03));
  CHECK(normal.deviation == Approx(2).epsilon(0.01));
  // fan-in 300, fan-out 100
  CHECK(moments(values(init::Xavier(), {100, 300})).largest == Approx(std::sqrt(3.0 / 200)).epsilon(0.01));
  CHECK(
      moments(values(init::Xavier({.rnd_type = "gaussian", .factor_type = "in", .magnitude = 2}), {100, 300}))
          .deviation == Approx(std::sqrt(2.0 / 300)).epsilon(0.02));
  CHECK_THROWS_WITH(values(init::Xavier(), {3}), Contains("two axes"));
  CHECK_THROWS_WITH(init::Xavier({.rnd_type = "even"}), Contains("'even'"));
  CHECK_THROWS_WITH(Initializer("nothing"), Contains("'nothing'") && Contains("xavier"));
}

TEST_CASE("initializers say what MXNet's files say") {
  CHECK(Initializer("zeros").text() == "zeros");
  CHECK(init::Zero().text() == "[\"zero\", {}]");
  CHECK(init::Constant(0.25).text() == "[\"constant\", {\"value\": 0.25}]");
  CHECK(init::Uniform().text() == "[\"uniform\", {\"scale\": 0.07}]");
  CHECK(init::Xavier().text() ==
        "[\"xavier\", {\"rnd_type\": \"uniform\", \"factor_type\": \"avg\", \"magnitude\": 3}]");
}

TEST_CASE("initializers have a stream of their own") {
  random::seed(7);
  const auto a = values(init::Uniform(), {4});
  const auto b = values(init::Uniform(), {4});
  CHECK(a != b);
  random::seed(7);
  const Tensor drawn = random::normal(0, 1, {3});
  CHECK(values(init::Uniform(), {4}) == a);
  random::seed(7);
  values(init::Uniform(), {1000});
  CHECK(random::normal(0, 1, {3}).to_vector<float>() == drawn.to_vector<float>());
}

TEST_CASE("a program's own initializer") {
  const Initializer diagonal("[\"diagonal\", {}]",
                             [](std::span<double> out, const Shape& shape, const std::function<double()>&) {
                               for (std::int64_t i = 0; i < shape[0]; ++i)
                                 for (std::int64_t j = 0; j < shape[1]; ++j)
                                   out[static_cast<std::size_t>(i * shape[1] + j)] = i == j;
                             });
  CHECK(values(diagonal, {2, 2}) == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("orthogonal weights", "[initializer]") {
  for (const char* rand_type : {"uniform", "normal"})
    for (const Shape& shape :
         {Shape{5, 12}, Shape{12, 5}, Shape{6, 6}, Shape{4, 3, 2, 2}, Shape{1, 1}, Shape{3}}) {
      INFO(rand_type << shape.str());
      random::seed(3);
      const std::vector<double> w = values(init::Orthogonal({.scale = 2, .rand_type = rand_type}), shape);
      const auto rows = static_cast<std::size_t>(shape[0]), columns = w.size() / rows;
      const bool by_rows = rows <= columns;
      const std::size_t count = by_rows ? rows : columns, length = by_rows ? columns : rows;
      const auto at = [&](std::size_t vector, std::size_t i) {
        return by_rows ? w[vector * columns + i] : w[i * columns + vector];
      };
      for (std::size_t a = 0; a < count; ++a)
        for (std::size_t b = 0; b <= a; ++b) {
          double product = 0;
          for (std::size_t i = 0; i < length; ++i) product += at(a, i) * at(b, i);
          CHECK(product == Approx(a == b ? 4 : 0).margin(1e-5));  // the weights are float32
        }
    }
  CHECK(init::Orthogonal().text() == "[\"orthogonal\", {\"scale\": 1.414, \"rand_type\": \"uniform\"}]");
  CHECK_THROWS_WITH(init::Orthogonal({.rand_type = "gaussian"}), Contains("'gaussian'"));
}

TEST_CASE("weights that depend on their place", "[initializer]") {
  // The window of an upsampling by 2 (Long et al. 2015), for each channel.
  const std::vector<double> line = {0.25, 0.75, 0.75, 0.25};
  const std::vector<double> window = values(init::Bilinear(), {2, 1, 4, 4});
  for (std::size_t i = 0; i < window.size(); ++i) CHECK(window[i] == line[i / 4 % 4] * line[i % 4]);
  CHECK(values("bilinear", {1, 1, 1, 3}) == std::vector<double>{0.25 * 0.25, 0.75 * 0.25, 0.75 * 0.25});
  CHECK_THROWS_WITH(values(init::Bilinear(), {4, 4}), Contains("four axes"));

  CHECK(values(init::LSTMBias(), {8}) == std::vector<double>{0, 0, 1, 1, 0, 0, 0, 0});
  CHECK(values("lstmbias", {4}) == std::vector<double>{0, 1, 0, 0});
  CHECK(init::LSTMBias(0.5).text() == "[\"lstmbias\", {\"forget_bias\": 0.5}]");
  CHECK_THROWS_WITH(values(init::LSTMBias(), {6}), Contains("quarter"));
}

namespace {

/// A layer "net_" with a weight and a bias; the bias has an initializer.
struct TwoParameters {
  ParameterDict dict{"net_"};
  Parameter weight = dict.get("weight", {2}), bias = dict.get("bias", {2}, {.init = init::Constant(7)});
};

std::vector<float> floats(const Parameter& p) { return p.data().to_vector<float>(); }

}  // namespace

TEST_CASE("an initializer for each name", "[initializer]") {
  TwoParameters p;
  p.dict.initialize(init::Mixed({".*bias", "net_w"}, {init::One(), init::Constant(3)}));
  CHECK(floats(p.weight) == std::vector<float>{3, 3});
  CHECK(floats(p.bias) == std::vector<float>{7, 7});  // its own
  p.bias.initialize(init::Mixed({".*bias"}, {"ones"}), {}, /*force_reinit=*/true);
  CHECK(floats(p.bias) == std::vector<float>{1, 1});

  TwoParameters other;
  CHECK_THROWS_WITH(other.dict.initialize(init::Mixed({"weight"}, {init::One()})),  // matches at the start
                    Contains("'net_weight'") && Contains("\".*\""));
  CHECK_THROWS_WITH(init::Mixed({"("}, {init::One()}), Contains("'('"));
  CHECK_THROWS_WITH(init::Mixed({"a", "b"}, {init::One()}), Contains("2 patterns") && Contains("1 "));

  // A parameter whose shape the first call tells
  nn::Dense layer(2);
  layer.initialize(init::Mixed({".*weight"}, {init::Constant(5)}));
  layer(ones({1, 3}));
  CHECK(floats(layer.weight) == std::vector<float>(6, 5));
}

TEST_CASE("initial values from a file", "[initializer]") {
  const std::vector<NamedArray> saved = {{"arg:net_weight", Tensor{1.5f, 2.5f}},
                                         {"aux:net_bias", Tensor{3.0f, 4.0f}}};
  TwoParameters p;
  p.dict.initialize(init::Load(saved));
  CHECK(floats(p.weight) == std::vector<float>{1.5f, 2.5f});
  CHECK(floats(p.bias) == std::vector<float>{3, 4});  // in spite of its own initializer

  const TemporaryFolder folder;
  const std::string file = (folder.path / "net.params").string();
  save_arrays(file, std::span(saved).first(1));
  TwoParameters half;
  half.dict.initialize(init::Load(file, init::Zero()));
  CHECK(floats(half.weight) == std::vector<float>{1.5f, 2.5f});
  CHECK(floats(half.bias) == std::vector<float>{7, 7});

  TwoParameters strict;
  CHECK_THROWS_WITH(strict.dict.initialize(init::Load(file)),
                    Contains("net.params") && Contains("'net_bias'"));
  ParameterDict large("net_");
  large.get("weight", {3});
  CHECK_THROWS_WITH(large.initialize(init::Load(file)), Contains("(3,)") && Contains("(2,)"));
  CHECK_THROWS_WITH(init::Load(file + ".missing"), Contains("initializer_test.cpp") && Contains("missing"));
}

TEST_CASE("random initial values are made in their array, on any number of threads", "[initializer]") {
  const std::int64_t n = 200'001;
  for (const Initializer& init : {init::Uniform(1), init::Normal(1), init::Constant(0.5)}) {
    INFO(init.text());
    const auto drawn = [&](int threads, DType dtype = DType::f32) {
      const ThreadLimit limit(threads);
      random::seed(7);
      Parameter p("p", {n}, {.dtype = dtype});
      const std::size_t before = Allocations::bytes;
      p.initialize(init);
      if (allocations_counted) CHECK(Allocations::bytes - before < 100'000);
      return p.data().to_vector<double>();
    };
    const std::vector<double> one = drawn(1);
    CHECK(drawn(4) == one);
    CHECK(drawn(4, DType::bf16) == drawn(1, DType::bf16));
  }
}

TEST_CASE("a seed gives the same initial values in every version", "[initializer]") {
  const auto some = [](const Initializer& init) {
    random::seed(7);
    const std::vector<double> all = values(init, {40001});
    return std::vector<double>{all[0], all[1], all[2], all[16383], all[16384], all[40000]};
  };
  CHECK(some(init::Uniform(1)) == std::vector<double>{0x1.0e8a86p-3, -0x1.a8f0b8p-1, 0x1.b88506p-3,
                                                      -0x1.67eab4p-2, -0x1.75a9c6p-1, 0x1.b6a16p-2});
  // The last bits depend on the C library's logarithm and cosine.
  const std::vector<double> normal = some(init::Normal(1));
  const double expected[] = {0x1.1cb476p+0, 0x1.50d742p-1,  -0x1.59e65cp+0,
                             0x1.261a82p-1, -0x1.8da2acp-4, 0x1.88d9f2p+0};
  for (std::size_t i = 0; i < normal.size(); ++i) CHECK(normal[i] == Approx(expected[i]).epsilon(1e-6));
}
