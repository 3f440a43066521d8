// Random arrays: a seed fixes all that follows.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>

using namespace kiln;

TEST_CASE("a seed repeats the sequence", "[random]") {
  random::seed(42);
  const Tensor a = random::uniform(0, 1, {100});
  const Tensor b = random::uniform(0, 1, {100});
  random::seed(42);
  const Tensor c = random::uniform(0, 1, {100});
  CHECK(a.to_vector<float>() == c.to_vector<float>());
  CHECK(a.to_vector<float>() != b.to_vector<float>());
  random::seed(43);
  CHECK(random::uniform(0, 1, {100}).to_vector<float>() != a.to_vector<float>());
}

TEST_CASE("uniform and normal have their moments", "[random]") {
  random::seed(1);
  const std::vector<double> u = nd::random::uniform(-1, 3, {20000}).to_vector<double>();
  double sum = 0;
  for (double v : u) {
    CHECK_FALSE((v < -1 || v >= 3));
    sum += v;
  }
  CHECK(std::fabs(sum / 20000 - 1) < 0.05);
  const std::vector<double> n = random_normal(2, 0.5, {20000}).to_vector<double>();
  double mean = 0, square = 0;
  for (double v : n) {
    mean += v / 20000;
    square += v * v / 20000;
  }
  CHECK(std::fabs(mean - 2) < 0.02);
  CHECK(std::fabs(std::sqrt(square - mean * mean) - 0.5) < 0.02);
}

TEST_CASE("random arrays have the dtype asked for", "[random]") {
  CHECK(random::uniform(0, 1, {3}, DType::f64).dtype() == DType::f64);
  CHECK(nd::random_uniform({.shape = {2, 3}}).shape() == Shape{2, 3});
}
