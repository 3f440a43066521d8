// Random arrays: a seed fixes all that follows.
#include <kiln/kiln.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace kiln;

namespace {

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const Tensor& x) {
  const std::vector<double> v = x.to_vector<double>();
  const auto n = static_cast<double>(v.size());
  Moments m;
  for (double a : v) m.mean += a / n;
  for (double a : v) m.variance += (a - m.mean) * (a - m.mean) / n;
  return m;
}

/// Mean and variance within five standard errors; the variance's follows from the excess kurtosis.
void check_moments(const Tensor& x, double mean, double variance, double kurtosis) {
  const Moments m = moments_of(x);
  INFO("mean " << m.mean << " for " << mean << ", variance " << m.variance << " for " << variance);
  const auto n = static_cast<double>(x.size());
  CHECK(std::fabs(m.mean - mean) <= 5 * std::sqrt(variance / n));
  CHECK(std::fabs(m.variance - variance) <= 5 * std::sqrt((kurtosis + 2) / n) * variance);
}

}  // namespace

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

TEST_CASE("random arrays have the requested dtype", "[random]") {
  CHECK(random::uniform(0, 1, {3}, DType::f64).dtype() == DType::f64);
  CHECK(nd::random_uniform({.shape = {2, 3}}).shape() == Shape{2, 3});
}

TEST_CASE("gamma and exponential have their moments", "[random]") {
  random::seed(5);
  for (const double alpha : {0.3, 1.0, 2.5, 40.0, 1e6}) {
    INFO("alpha " << alpha);
    const Tensor x = random::gamma(alpha, 0.5, {40000});
    check_moments(x, alpha * 0.5, alpha * 0.25, 6 / alpha);
    for (const double v : x.to_vector<double>()) REQUIRE(v >= 0);
  }
  check_moments(random::exponential(3, {40000}), 3, 9, 6);
  CHECK_THROWS_AS(random::gamma(-1, 1, {3}), Error);
}

TEST_CASE("poisson has its moments for small and large means", "[random]") {
  random::seed(6);
  for (const double lam : {0.0, 0.01, 0.5, 4.0, 81.5, 1000.0, 1e6, 1e10}) {
    INFO("lam " << lam);
    const Tensor x = random::poisson(lam, {40000}, DType::f64);
    const std::vector<double> v = x.to_vector<double>();
    for (const double a : v) REQUIRE((a >= 0 && a == std::floor(a)));
    if (lam < 0.1) {
      CHECK(std::count(v.begin(), v.end(), 0.0) >= 39000);
      continue;
    }
    check_moments(x, lam, lam, 1 / lam);
  }
  // Each count as often as it should be: 40000 e^-4 4^k / k!
  const std::vector<double> v = random::poisson(4, {40000}).to_vector<double>();
  double expected = 40000 * std::exp(-4.0);
  for (int k = 0; k < 12; ++k) {
    const auto count = static_cast<double>(std::count(v.begin(), v.end(), k));
    INFO(k << ": " << count << " for " << expected);
    CHECK(std::fabs(count - expected) <= 5 * std::sqrt(expected));
    expected *= 4.0 / (k + 1);
  }
  CHECK_THROWS_AS(random::poisson(-1, {3}), Error);
}

TEST_CASE("randint covers its range", "[random]") {
  random::seed(7);
  const std::vector<int> v = random::randint(-2, 5, {7000}).to_vector<int>();
  for (int i = -2; i < 5; ++i) CHECK(std::abs(std::count(v.begin(), v.end(), i) - 1000) < 150);
  CHECK(*std::min_element(v.begin(), v.end()) == -2);
  CHECK(*std::max_element(v.begin(), v.end()) == 4);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     most = std::numeric_limits<std::int64_t>::max();
  const Tensor wide = random::randint(least, most, {10000}, DType::i64);
  int negative = 0, low_bits = 0;
  for (const std::int64_t x : wide.to_vector<std::int64_t>()) {
    negative += x < 0;
    low_bits += x & 1;
  }
  CHECK(std::abs(negative - 5000) < 300);
  CHECK(std::abs(low_bits - 5000) < 300);
  CHECK_THROWS_AS(random::randint(3, 3, {3}), Error);
}

TEST_CASE("numbers that share a counter are independent", "[random]") {
  random::seed(8);
  // Successive draws, and a gamma's 8 counters before them, do not repeat each other.
  const std::vector<float> a = random::uniform(0, 1, {64}).to_vector<float>();
  random::seed(8);
  random::gamma(2, 1, {64});
  const std::vector<float> b = random::uniform(0, 1, {64}).to_vector<float>();
  random::seed(8);
  for (int i = 0; i < 8; ++i) random::uniform(0, 1, {64});
  CHECK(random::uniform(0, 1, {64}).to_vector<float>() == b);
  CHECK(a != b);
}
