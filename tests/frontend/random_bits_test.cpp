// The random bits of numbers of each dtype, as kiln.random_uniform in ir/KilnOps.td defines them.
#include "function_net.h"

#include <array>

using namespace kiln;

namespace {

/// Philox 4x32-10 of counter (index, call) and key.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t index, std::uint64_t call) {
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  std::array<std::uint32_t, 4> x{low(index), high(index), low(call), high(call)};
  std::uint32_t k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xd2511f53ull * x[0], p1 = 0xcd9e8d57ull * x[2];
    x = {high(p1) ^ x[1] ^ k0, low(p1), high(p0) ^ x[3] ^ k1, low(p0)};
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return x;
}

Tensor seeded(std::uint64_t seed, const std::function<Tensor()>& draw) {
  random::seed(seed);
  return draw();
}

/// Of the numbers, the share that float32 holds too.
double share_of_floats(const Tensor& x) {
  const auto v = x.to_vector<double>();
  return static_cast<double>(std::count_if(
             v.begin(), v.end(), [](double a) { return static_cast<double>(static_cast<float>(a)) == a; })) /
         static_cast<double>(v.size());
}

struct Distribution {
  const char* name;
  double mean, variance, kurtosis;  // the excess over a normal distribution's
  Tensor (*draw)(F&, const Shape&, DType);
  Tensor (*like)(F&, const Tensor&) = nullptr;  ///< where there is one
};
const Distribution kDistributions[] = {
    {"uniform", 1, 4.0 / 3, -1.2, [](F& f, const Shape& s, DType d) { return f.random_uniform(-1, 3, s, d); },
     [](F& f, const Tensor& x) { return f.random().uniform_like(x, -1, 3); }},
    {"normal", 2, 0.25, 0, [](F& f, const Shape& s, DType d) { return f.random_normal(2, 0.5, s, d); },
     [](F& f, const Tensor& x) { return f.random().normal_like(x, 2, 0.5); }},
    {"exponential", 3, 9, 6, [](F& f, const Shape& s, DType d) { return f.random_exponential(3, s, d); }},
    {"gamma", 1.25, 0.625, 2.4, [](F& f, const Shape& s, DType d) { return f.random_gamma(2.5, 0.5, s, d); }},
    {"gamma below 1", 0.3, 0.3, 20,
     [](F& f, const Shape& s, DType d) { return f.random_gamma(0.3, 1, s, d); }},
};

}  // namespace

TEST_CASE("uniform numbers are the definition's: 24 random bits of float32, 53 of float64") {
  constexpr std::uint64_t seed = 0x123456789abcdefull;
  const std::int64_t n = 100;
  const auto floats = seeded(seed, [&] { return random::uniform(0, 1, {n}); }).to_vector<float>();
  const auto doubles =
      seeded(seed, [&] { return random::uniform(0, 1, {n}, DType::f64); }).to_vector<double>();
  const auto halves = seeded(seed, [&] { return random::uniform(0, 1, {n}, DType::f16); });
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const auto words = philox(seed, i, 0);
    CHECK(floats[i] == static_cast<float>(words[0] >> 8) * 0x1p-24f);
    const std::uint64_t bits = std::uint64_t{words[0] >> 5} << 26 | words[1] >> 6;
    CHECK(doubles[i] == static_cast<double>(bits) * 0x1p-53);
  }
  CHECK(same_bits(halves, Tensor(floats, {n}).astype(DType::f16)));
}

TEST_CASE("numbers of float64 have more bits than float32 holds, and their distribution's moments") {
  for (const Distribution& d : kDistributions) {
    CAPTURE(d.name);
    const auto draw = [&](F& f, const Tensors& in) {
      Tensors drawn{d.draw(f, {40000}, DType::f64)};
      if (d.like) drawn.push_back(d.like(f, in[0]));
      return drawn;
    };
    for (const Tensor& x : everywhere(draw, {zeros({40000}, DType::f64)})) {
      REQUIRE(x.dtype() == DType::f64);
      CHECK(share_of_floats(x) < 0.001);
      const auto v = x.to_vector<double>();
      const auto n = static_cast<double>(v.size());
      double mean = 0, variance = 0, odd = 0;
      for (const double a : v) mean += a / n;
      for (const double a : v) {
        variance += (a - mean) * (a - mean) / n;
        odd += static_cast<double>(std::bit_cast<std::uint64_t>(a) >> 20 & 1) / n;
      }
      // Within five standard errors.
      CHECK(std::fabs(mean - d.mean) <= 5 * std::sqrt(d.variance / n));
      CHECK(std::fabs(variance - d.variance) <= 5 * std::sqrt((d.kurtosis + 2) / n) * d.variance);
      CHECK(std::fabs(odd - 0.5) <= 5 * 0.5 / std::sqrt(n));
    }
  }
}

TEST_CASE("numbers of float32 and narrower are those of float32, rounded") {
  for (const Distribution& d : kDistributions) {
    CAPTURE(d.name);
    const auto of = [&](DType dtype) {
      return everywhere([&](F& f, const Tensors&) { return Tensors{d.draw(f, {1000}, dtype)}; },
                        {zeros({1})})[0];
    };
    CHECK(same_bits(of(DType::f16), of(DType::f32).astype(DType::f16)));
    CHECK(same_bits(of(DType::bf16), of(DType::f32).astype(DType::bf16)));
  }
}

TEST_CASE("what float32 draws has not changed with float64") {
  // Recorded before float64 had separate random numbers.
  random::seed(42);
  const Tensor last =
      nd::concat({random::uniform(0, 1, {2}), random::normal(0, 1, {2}), random::gamma(2.5, 1, {2}),
                  random::gamma(0.5, 1, {2}), random::exponential(1, {2}), random::uniform(0, 1, {2})},
                 {.dim = 0});
  const std::vector<float> recorded{0x1.39d5ep-1f,  0x1.f9b642p-1f, -0x1.d3c302p-4f, -0x1.f185bcp-2f,
                                    0x1.fd64fp+0f,  0x1.23dbdap+2f, 0x1.b2a0d4p-10f, 0x1.067036p+2f,
                                    0x1.da889ap-3f, 0x1.fb8738p-1f, 0x1.e2ccp-8f,    0x1.f12b34p-2f};
  CHECK(last.to_vector<float>() == recorded);
}

TEST_CASE("slopes of rrelu in float64") {
  const auto slopes = [](F& f, const Tensors& in) {
    return Tensors{f.LeakyReLU(in[0], {.act_type = "rrelu", .lower_bound = 0.1, .upper_bound = 0.3})};
  };
  const autograd::TrainMode train;
  const Tensor x = full({1000}, -1.0, DType::f64);
  CHECK(share_of_floats(everywhere(slopes, {x})[0]) < 0.01);
}
