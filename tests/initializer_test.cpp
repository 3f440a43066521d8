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
