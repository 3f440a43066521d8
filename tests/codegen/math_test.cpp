// The arithmetic of generated kernels. Elementary functions are compared with the long double functions of
// the C library (64 bits of significand, so 2^-11 of a double's ULP); then special values, integers, casts.
// Every table row also pins a hash of the result's bits, equal on scalar, AVX2 and AVX-512 code (ctest runs
// this program for each), so that a change of any bit fails here.
#include "every_half.h"
#include "ulps.h"

#include <kiln/kiln.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace kiln;
using namespace ulp;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> on(const std::vector<T>& x, Tensor (*f)(const Tensor&)) {
  return f(Tensor(x, {static_cast<std::int64_t>(x.size())})).template to_vector<T>();
}
template <class T>
std::vector<T> on(const std::vector<T>& x, const std::vector<T>& y,
                  Tensor (*f)(const Tensor&, const Tensor&)) {
  Shape shape{static_cast<std::int64_t>(x.size())};
  return f(Tensor(x, shape), Tensor(y, shape)).template to_vector<T>();
}

/// FNV-1a; all NaNs count as one.
template <class T>
std::uint32_t hash(const std::vector<T>& values) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (T v : values)
    h = (h ^ (std::isnan(v) ? std::uint64_t{0x7ff} : std::uint64_t{std::bit_cast<Bits<T>>(v)})) *
        0x100000001b3;
  return static_cast<std::uint32_t>(h >> 32);
}

/// Special values, bit patterns evenly through the whole type, and numbers where most networks have theirs.
template <class T>
std::vector<T> arguments() {
  std::vector<T> x = special_values<T>();
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < 24000; ++i) x.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
  auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 4000; ++i) {
    x.push_back(static_cast<T>(uniform() * 2.2 - 1.1));
    x.push_back(static_cast<T>(uniform() * 40 - 20));
    x.push_back(static_cast<T>(uniform() * 1600 - 800));
    const int scale = -static_cast<int>(random() % 24);
    x.push_back(static_cast<T>(1 + std::ldexp(uniform() - 0.5, scale)));
  }
  return x;
}

struct Function {
  const char* name;
  Tensor (*f)(const Tensor&);
  long double (*reference)(long double);
  double bound32, bound64;       // ULP
  std::uint32_t hash32, hash64;  // of the results on arguments()
};
#define KILN_FUNCTION(name, reference) \
#name, [](const Tensor& x) { return nd::name(x); }, [](long double x) { return reference; }
const Function kFunctions[] = {
    {KILN_FUNCTION(exp, std::exp(x)), 1, 1, 0x863a0e2c, 0x3ffbde5d},
    {KILN_FUNCTION(expm1, std::expm1(x)), 0.51, 2.5, 0xb280463c, 0x1e367bd3},
    {KILN_FUNCTION(log, std::log(x)), 1, 1, 0x10e8b4f0, 0xba5996f0},
    {KILN_FUNCTION(log2, std::log2(x)), 1, 2, 0x9f2df050, 0xd89324ed},
    {KILN_FUNCTION(log10, std::log10(x)), 1.05, 2, 0x5fbf120e, 0x9cc5c1cc},
    {KILN_FUNCTION(log1p, std::log1p(x)), 1.27, 2, 0xcddff78b, 0x577401c4},
    {KILN_FUNCTION(sin, std::sin(x)), 1.1, 1, 0xf255861a, 0x04210b05},
    {KILN_FUNCTION(cos, std::cos(x)), 1.1, 1, 0x1a8a377e, 0xa8a3f021},
    {KILN_FUNCTION(tan, std::tan(x)), 1.48, 2.5, 0x1b32394d, 0xc0cc7684},
    {KILN_FUNCTION(arcsin, std::asin(x)), 0.8, 2, 0x867b00be, 0x2cb037e1},
    {KILN_FUNCTION(arccos, std::acos(x)), 1, 2, 0x23310629, 0x22c40aca},
    {KILN_FUNCTION(arctan, std::atan(x)), 1.05, 2, 0x0ffc717f, 0xbfda7363},
    {KILN_FUNCTION(sinh, std::sinh(x)), 0.51, 3, 0xfcbbc422, 0x23c4ff84},
    {KILN_FUNCTION(cosh, std::cosh(x)), 0.51, 2, 0x468ff65e, 0x15ba452d},
    {KILN_FUNCTION(tanh, std::tanh(x)), 1.5, 2.5, 0x65b82de2, 0x4e77abfd},
    {KILN_FUNCTION(arcsinh, std::asinh(x)), 0.51, 2.5, 0x77cf57c0, 0x117afb6b},
    {KILN_FUNCTION(arccosh, std::acosh(x)), 0.51, 3.5, 0x9c1eb744, 0x229c2664},
    {KILN_FUNCTION(arctanh, std::atanh(x)), 0.51, 2.5, 0xec54cb4e, 0xe44bd2e2},
    {KILN_FUNCTION(erf, std::erf(x)), 1.25, 1.5, 0xb5ec625d, 0xb5b6ae88},
    {KILN_FUNCTION(cbrt, std::cbrt(x)), 0.51, 1, 0xd4eea56b, 0xb3050c94},
    {KILN_FUNCTION(sqrt, std::sqrt(x)), 0.5, 0.5, 0xe2af0958, 0xd8c1db61},
    {KILN_FUNCTION(rsqrt, 1 / std::sqrt(x)), 1.5, 1.5, 0x2b7c4cbc, 0x260931e2},
};

long double logistic(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
// Made of the exponential that softmax has as well: of float32 it gives nothing below 2^-126.5.
const Function kSigmoid32{KILN_FUNCTION(sigmoid, std::exp2(-126.5L) > std::exp(x) ? 0 : logistic(x)), 2, 0,
                          0xabe9d7a7, 0};
const Function kSigmoid64{KILN_FUNCTION(sigmoid, logistic(x)), 0, 2, 0, 0xc0fbf5e0};

template <class T>
void check_function(const Function& function, double bound, std::uint32_t expected) {
  auto x = arguments<T>();
  auto y = on(x, function.f);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double e = ulps(y[i], function.reference(x[i]));
    if (e > worst) worst = e, at = i;
  }
  INFO(function.name << (sizeof(T) == 4 ? " float32: " : " float64: ") << worst << " ULP at " << x[at]
                     << " gives " << y[at]);
  CHECK(worst <= bound);
  INFO("hash of all results: 0x" << std::hex << hash(y));
  CHECK(hash(y) == expected);
}

struct Binary {
  const char* name;
  Tensor (*f)(const Tensor&, const Tensor&);
  long double (*reference)(long double, long double);
  double bound32, bound64;
  std::uint32_t hash32, hash64;
};
long double floor_mod(long double a, long double b) {
  if (b == 0) return 0;
  const long double r = std::fmod(a, b);
  if (std::isnan(b) || (a < 0) == (b < 0)) return r;
  return r + (r != 0 ? b : 0);
}
#define KILN_BINARY(name, reference)                                    \
#name, [](const Tensor& x,                                            \
            const Tensor& y) { return nd::name(x, y); },                \
                                                      [](long double x, \
                                                         long double y) -> long double { return reference; }
const Binary kBinaries[] = {
    {KILN_BINARY(power, std::pow(x, y)), 0.51, 3, 0x79fd7a07, 0xda56bce4},
    {KILN_BINARY(hypot, std::hypot(x, y)), 0.51, 1.5, 0x01a9caf1, 0x769d2740},
    {KILN_BINARY(modulo, floor_mod(x, y)), 0.51, 0.51, 0x17a93056, 0xcff2f7e8},
    {KILN_BINARY(maximum, std::isnan(x) || x > y ? x : y), 0, 0, 0x254c1850, 0xad9aaba7},
    {KILN_BINARY(minimum, std::isnan(x) || x < y ? x : y), 0, 0, 0xf601172e, 0x27286e9e},
    {KILN_BINARY(divide, x / y), 0.501, 0.501, 0xa0c233bb, 0x21fd529d},
};

template <class T>
void check_binary(const Binary& function, double bound, std::uint32_t expected) {
  std::vector<T> x, y;
  auto special = special_values<T>();
  for (T a : special)
    for (T b : special) x.push_back(a), y.push_back(b);
  std::mt19937_64 random(2);
  auto uniform = [&](double low, double high) {
    return static_cast<T>(low + static_cast<double>(random() >> 11) * 0x1p-53 * (high - low));
  };
  for (int i = 0; i < 5000; ++i) {
    x.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random()))),
        y.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
    x.push_back(uniform(0, 10)), y.push_back(uniform(-20, 20));
    x.push_back(uniform(0.9, 1.1)), y.push_back(uniform(-5000, 5000));
    x.push_back(uniform(0.25, 4)), y.push_back(uniform(-500, 500));
  }
  auto z = on(x, y, function.f);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double e = ulps(z[i], function.reference(x[i], y[i]));
    if (e > worst) worst = e, at = i;
  }
  INFO(function.name << (sizeof(T) == 4 ? " float32: " : " float64: ") << worst << " ULP at " << x[at] << ", "
                     << y[at] << " gives " << z[at]);
  CHECK(worst <= bound);
  INFO("hash of all results: 0x" << std::hex << hash(z));
  CHECK(hash(z) == expected);
}

}  // namespace

TEST_CASE("functions of one number keep their bounds and bits", "[math]") {
  for (const Function& f : kFunctions) {
    check_function<float>(f, f.bound32, f.hash32);
    check_function<double>(f, f.bound64, f.hash64);
  }
}

TEST_CASE("functions of one number keep their bounds at every exponent", "[math]") {
  const auto check = [](const Function& f, auto zero, double bound) {
    using T = decltype(zero);
    const std::vector<T> x = every_exponent<T>(), y = on(x, f.f);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double e = ulps(y[i], f.reference(x[i]));
      INFO(f.name << (sizeof(T) == 4 ? " float32: " : " float64: ") << e << " ULP at " << x[i] << " gives "
                  << y[i]);
      if (e > bound) CHECK(e <= bound);
    }
  };
  for (const Function& f : kFunctions) {
    check(f, 0.f, f.bound32);
    check(f, 0.0, f.bound64);
  }
  check(kSigmoid32, 0.f, kSigmoid32.bound32);
  check(kSigmoid64, 0.0, kSigmoid64.bound64);
}

TEST_CASE("erf reaches 1 where it rounds to 1", "[math]") {
  std::vector<float> x;
  for (float t = 3.9f; t < 4.1f; t = std::nextafter(t, 5.f)) x.push_back(t);
  const std::vector<float> y = on(x, [](const Tensor& v) { return nd::erf(v); });
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] > 3.933f && y[i] != 1) FAIL_CHECK("erf(" << x[i] << ") is " << y[i]);
}

TEST_CASE("functions of half precision are those of float32, rounded once", "[math]") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor narrow = every_half(dtype), wide = narrow.astype(DType::f32);
    for (const Function& f : kFunctions) {
      INFO(f.name << " of " << name_of(dtype));
      CHECK(hash(f.f(narrow).astype(DType::f32).to_vector<float>()) ==
            hash(f.f(wide).astype(dtype).astype(DType::f32).to_vector<float>()));
    }
  }
}

TEST_CASE("sigmoid decays to zero", "[math]") {
  check_function<float>(kSigmoid32, kSigmoid32.bound32, kSigmoid32.hash32);
  check_function<double>(kSigmoid64, kSigmoid64.bound64, kSigmoid64.hash64);
  CHECK(on<float>({-kInf, -1e30f, -88, kInf}, kSigmoid32.f) == std::vector<float>{0, 0, 0, 1});
}

TEST_CASE("softmax: what is masked is zero, NaN reaches its whole row", "[math]") {
  auto softmax = [](std::vector<float> row) {
    return nd::softmax(Tensor(row, {1, static_cast<std::int64_t>(row.size())})).to_vector<float>();
  };
  CHECK(softmax({3, -kInf, 3, -1e30f}) == std::vector<float>{0.5f, 0, 0.5f, 0});
  CHECK(softmax({0, -87})[0] == 1);
  CHECK(ulps(softmax({0, -87})[1], std::exp(-87.0L)) <= 1);
  for (float y : softmax({1, 2, kNaN, -kInf, 5, 6, 7, 8, 9})) CHECK(std::isnan(y));
  for (float y : softmax({1, kInf})) CHECK((y == 0 || std::isnan(y)));
}

TEST_CASE("softmax: a NaN reaches its row from anywhere in it, and no other row", "[math]") {
  constexpr std::size_t rows = 3, columns = 150;
  for (std::size_t at = 0; at < columns; ++at) {
    std::vector<float> x(rows * columns);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) * (i % 2 == 0 ? 100.f : -1.f);
    x[columns + at] = kNaN;
    for (const auto f : {+[](const Tensor& t) { return nd::softmax(t); },
                         +[](const Tensor& t) { return nd::log_softmax(t); }}) {
      const auto y = f(Tensor(x, {rows, columns})).to_vector<float>();
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i / columns == 1));
    }
  }
}

TEST_CASE("normalisation scales and shifts in one rounding", "[math]") {
  // The product's last bit is beyond the type, unless 1 is subtracted first.
  const auto check = [](DType dtype, double low) {
    const auto one = [&](double v) { return Tensor({v}, DType::f64).astype(dtype); };
    const Tensor x = one(1 + low).reshape({1, 1});
    const Tensor y =
        nd::BatchNorm(x, one(1 + low), one(-1), one(0), one(1), {.eps = 0.0, .fix_gamma = false});
    CHECK(y.astype(DType::f64).item<double>() == 2 * low + low * low);
  };
  check(DType::f32, 0x1p-12);
  check(DType::f64, 0x1p-27);
}

TEST_CASE("functions of two numbers keep their bounds and bits", "[math]") {
  for (const Binary& f : kBinaries) {
    check_binary<float>(f, f.bound32, f.hash32);
    check_binary<double>(f, f.bound64, f.hash64);
  }
}

TEST_CASE("an element's bits do not depend on its place", "[math]") {
  auto all = arguments<float>();
  std::vector<float> x(all.begin(), all.begin() + 67);
  for (const Function& f : kFunctions) {
    auto together = on(x, f.f);
    for (std::size_t i = 0; i < x.size(); i += 11) {
      INFO(f.name << " of " << x[i]);
      CHECK(hash(on(std::vector<float>{x[i]}, f.f)) == hash(std::vector<float>{together[i]}));
    }
  }
}

TEST_CASE("of zeros of both signs clip keeps the one that it is given, and relu gives +0", "[math]") {
  const Tensor x({-0.0, 0, -1, 2, kNaN}, DType::f32);
  const auto check = [](const Tensor& got, std::vector<float> want) {
    const std::vector<float> y = got.to_vector<float>();
    want.push_back(kNaN);
    CHECK(hash(y) == hash(want));
  };
  check(nd::clip(x, 0, 1), {-0.0f, 0, 0, 1});
  check(nd::clip(x, -1, 0), {-0.0f, 0, -1, 0});
  check(nd::relu(x), {0, 0, 0, 2});
}

TEST_CASE("rounding", "[math]") {
  std::vector<float> x = {-2.5f, -1.5f, -0.5f, -0.3f,     -0.0f, 0.f,   0.49999997f,
                          0.5f,  1.5f,  2.5f,  8388609.f, 1e30f, -kInf, kNaN};
  auto same = [&](Tensor (*f)(const Tensor&), float (*want)(float)) {
    std::vector<float> expected;
    for (float v : x) expected.push_back(want(v));
    CHECK(hash(on(x, f)) == hash(expected));
  };
  same([](const Tensor& v) { return nd::round(v); }, [](float v) { return std::round(v); });
  same([](const Tensor& v) { return nd::trunc(v); }, [](float v) { return std::trunc(v); });
  same([](const Tensor& v) { return nd::floor(v); }, [](float v) { return std::floor(v); });
  same([](const Tensor& v) { return nd::ceil(v); }, [](float v) { return std::ceil(v); });
}

TEST_CASE("integers wrap, and dividing by zero gives zero", "[math]") {
  using Ints = std::vector<std::int32_t>;
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min(),
                         kMost = std::numeric_limits<std::int32_t>::max();
  const Tensor a(Ints{7, -7, 7, -7, 5, kLeast, kLeast, kMost, 0, -6}, {10});
  const Tensor b(Ints{2, 2, -2, -2, 0, -1, 0, -1, 3, 3}, {10});
  CHECK((a / b).to_vector<std::int32_t>() == Ints{3, -3, -3, 3, 0, kLeast, 0, -kMost, 0, -2});
  CHECK((a % b).to_vector<std::int32_t>() == Ints{1, 1, -1, -1, 0, 0, 0, 0, 0, 0});
  CHECK((a + a).to_vector<std::int32_t>() == Ints{14, -14, 14, -14, 10, 0, 0, -2, 0, -12});
  CHECK(nd::power(Tensor(Ints{8, 7, 0, -2, 2}, {5}), Tensor(Ints{2, 3, 0, 3, -1}, {5}))
            .to_vector<std::int32_t>() == Ints{64, 343, 1, -8, 0});

  using Longs = std::vector<std::int64_t>;
  constexpr std::int64_t kLeast64 = std::numeric_limits<std::int64_t>::min();
  const Tensor c(Longs{kLeast64, 9007199254740993, -9007199254740993, 1}, {4});
  CHECK((c / Tensor(Longs{-1, 1, 10, 0}, {4})).to_vector<std::int64_t>() ==
        Longs{kLeast64, 9007199254740993, -900719925474099, 0});

  using Bytes = std::vector<std::uint8_t>;
  const Tensor d(Bytes{200, 250, 7, 255}, {4}), e(Bytes{100, 7, 0, 2}, {4});
  CHECK((d + e).to_vector<std::uint8_t>() == Bytes{44, 1, 7, 1});
  CHECK((d / e).to_vector<std::uint8_t>() == Bytes{2, 35, 0, 127});
  CHECK((d % e).to_vector<std::uint8_t>() == Bytes{0, 5, 0, 1});
  CHECK(nd::maximum(d, e).to_vector<std::uint8_t>() == Bytes{200, 250, 7, 255});
}

TEST_CASE("casts are defined for every value", "[math]") {
  const std::vector<float> values = {
      1.9f, -1.9f, 300.f, -1.f, 3e9f, -3e9f, 1e20f, kInf, kNaN, 0.f, 4294967296.f + 512.f};
  const Tensor x(values, {11});
  CHECK(x.astype(DType::i32).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{1, -1, 300, -1, -1294967296, 1294967296, 0, 0, 0, 0, 512});
  CHECK(x.astype(DType::u8).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{1, 255, 44, 255, 0, 0, 0, 0, 0, 0, 0});
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  CHECK(x.astype(DType::i64).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{1, -1, 300, -1, 3000000000, -3000000000, kLeast, kLeast, kLeast, 0,
                                  4294967808});
}

TEST_CASE("half precision rounds once, to even", "[math]") {
  // Ties, the greatest finite value and beyond, subnormals, half of the least.
  const Tensor x(std::vector<double>{1 + 0x1p-11, 1 + 0x3p-11, 65519.99, 65520, 0x1p-24, 0x1p-25,
                                     0x1.0000001p-25, 1 + 0x1p-11 + 0x1p-40},
                 {8});
  CHECK(x.astype(DType::f16).to_vector<float>() ==
        std::vector<float>{1, 1 + 0x1p-9f, 65504, kInf, 0x1p-24f, 0, 0x1p-24f, 1 + 0x1p-10f});
  const Tensor y(
      std::vector<double>{1 + 0x1p-8, 1 + 0x3p-8, 1 + 0x1p-8 + 0x1p-40, 0x1p-133, 0x1p-134, 3.4e38}, {6});
  CHECK(y.astype(DType::bf16).to_vector<float>() ==
        std::vector<float>{1, 1 + 0x1p-6f, 1 + 0x1p-7f, 0x1p-133f, 0, kInf});
  // Each operation of a chain rounds: 2048 + 1 is 2048 in half precision.
  const Tensor h = Tensor(std::vector<float>{2048}, {1}).astype(DType::f16);
  CHECK(((h + 1) - 2048).to_vector<float>() == std::vector<float>{0});
}
