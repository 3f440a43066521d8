// Functions composed of several operations, and their gradients, over all exponents: beside MXNet's formula
// with each step rounded correctly to the type. Half precision is computed in float32 and rounded once: all
// its numbers.
#include "every_half.h"
#include "same_bits.h"
#include "ulps.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <numbers>
#include <random>

using namespace kiln;
using namespace ulp;

namespace {

/// A number of the type, whose operators round the exact result once.
template <class T>
struct Rounded {
  T v;
  Rounded(long double x) : v(static_cast<T>(x)) {}
  long double exact() const { return v; }
};
#define KILN_ROUNDED(op)                               \
  template <class T>                                   \
  Rounded<T> operator op(Rounded<T> a, Rounded<T> b) { \
    return Rounded<T>(a.v op b.v);                     \
  }                                                    \
  template <class T>                                   \
  Rounded<T> operator op(double a, Rounded<T> b) {     \
    return Rounded<T>(a) op b;                         \
  }
KILN_ROUNDED(+)
KILN_ROUNDED(-)
KILN_ROUNDED(*)
KILN_ROUNDED(/)
#undef KILN_ROUNDED
template <class T>
Rounded<T> operator-(Rounded<T> a) {
  return -a.exact();
}
template <class T>
bool operator>(Rounded<T> a, double b) {
  return a.exact() > b;
}
#define KILN_ROUNDED(f)        \
  template <class T>           \
  Rounded<T> f(Rounded<T> x) { \
    return std::f(x.exact());  \
  }
KILN_ROUNDED(exp)
KILN_ROUNDED(expm1)
KILN_ROUNDED(log)
KILN_ROUNDED(log1p)
KILN_ROUNDED(erf)
KILN_ROUNDED(tanh)
KILN_ROUNDED(abs)
#undef KILN_ROUNDED

// MXNet's formulas (src/operator/mshadow_op.h).

constexpr double kSeluAlpha = 1.6732632423543772848170429916717,
                 kSeluScale = 1.0507009873554804934193349852946;

template <class R>
R sigmoid(R x) {  // where 1 / (1 + exp(-x)) overflows, the same extended by exp(x)
  return x > 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}
template <class R>
R softrelu(R x) {
  return x > 20 ? x : log1p(exp(x));
}
template <class R>
R gelu(R x) {
  return 0.5 * x * (1 + erf(x / R(std::numbers::sqrt2)));
}
template <class R>
R gelu_slope(R x) {
  const R u = x / R(std::numbers::sqrt2);
  const R slope = 2 / std::sqrt(std::numbers::pi) * exp(-(u * u));
  return 0.5 * (1 + erf(u) + x * slope / R(std::numbers::sqrt2));
}
template <class R>
R hard_sigmoid(R x) {
  const R line = 0.2f * x + R(0.5);
  return line > 1 ? R(1) : line > 0 || std::isnan(x.v) ? line : R(0);
}
template <class R>
R log_softmax(R x) {  // the first of two; the other is 0
  const R top = x > 0 ? x : R(0), shifted = x - top;
  return shifted - log(exp(shifted) + exp(0 - top));
}
/// Gluon's cross-entropy (gluon/loss.py) of the class z in [0, 1] and sigmoid(x).
template <class R>
R logistic(R x, double z) {
  const R positive = x > 0 ? x : R(0);
  return positive - x * R(z) + softrelu(-abs(x));
}
template <class R>
R logistic_slope(R x, double z) {
  const R of_positive = x > 0 ? R(1) : R(0), sign = std::isnan(x.v) ? x : R((x.v > 0) - (x.v < 0));
  return of_positive - R(z) - sign * -expm1(-softrelu(-abs(x)));
}
template <class R>
R cross_entropy(R x, double z) {  // where x is the probability itself
  const R eps = 1e-12;
  return -(log(x + eps) * R(z) + log(1 - x + eps) * (1 - R(z)));
}

/// dy/dx of y = f(x).
Tensor slope(Tensor (*f)(const Tensor&), const Tensor& x) {
  Tensor own = x.copy();
  own.attach_grad();
  autograd::record([&] { return f(own); }).backward();
  return own.grad().copy();
}

/// A function of one array.
struct Composed {
  const char* name;
  Tensor (*f)(const Tensor&);
  Rounded<float> (*in_float)(Rounded<float>);
  Rounded<double> (*in_double)(Rounded<double>);
  double bound;                           ///< ULP of the result
  double (*cancels)(double x) = nullptr;  ///< the size of the terms that cancel; one ULP of it counts too
  double flushed = 0;                     ///< of float32: numbers below it may be 0
};

/// Made of the exponential that softmax has as well, which gives nothing below 2^-126.5.
constexpr double kLeastSigmoid = 0x1.6ap-127;

#define KILN_COMPOSED(name, kiln, formula)                                                                \
  name, [](const Tensor& x) { return kiln; }, [](Rounded<float> x) -> Rounded<float> { return formula; }, \
      [](Rounded<double> x) -> Rounded<double> { return formula; }

const Composed kFunctions[] = {
    {KILN_COMPOSED("sigmoid", nd::sigmoid(x), sigmoid(x)), 4, nullptr, kLeastSigmoid},
    {KILN_COMPOSED("Activation sigmoid", nd::Activation(x, {.act_type = "sigmoid"}), sigmoid(x)), 4, nullptr,
     kLeastSigmoid},
    {KILN_COMPOSED("softrelu", nd::Activation(x, {.act_type = "softrelu"}), softrelu(x)), 3},
    {KILN_COMPOSED("softsign", nd::softsign(x), x / (1 + abs(x))), 0},
    {KILN_COMPOSED("gelu", nd::LeakyReLU(x, {.act_type = "gelu"}), gelu(x)), 5,
     [](double x) { return std::abs(x) < 1 ? 0. : std::abs(x) / 2; }},
    {KILN_COMPOSED("elu", nd::LeakyReLU(x, {.act_type = "elu", .slope = 0.5}), x > 0 ? x : 0.5 * expm1(x)),
     3},
    {KILN_COMPOSED("selu", nd::LeakyReLU(x, {.act_type = "selu"}),
                   kSeluScale*(x > 0 ? x : kSeluAlpha * expm1(x))),
     4},
    {KILN_COMPOSED("hard_sigmoid", nd::hard_sigmoid(x), hard_sigmoid(x)), 0},
    {KILN_COMPOSED("log_softmax",
                   F::slice_axis(nd::log_softmax(F::stack({x, F::zeros_like(x)}, {.axis = 1})),
                                 {.axis = 1, .begin = 0, .end = 1})
                       .reshape({-1}),
                   log_softmax(x)),
     4, [](double) { return 1.0; }},
};

#define KILN_SLOPE(name, kiln, formula) \
  KILN_COMPOSED(name, slope([](const Tensor& v) -> Tensor { return kiln; }, x), formula)

const Composed kSlopes[] = {
    {KILN_SLOPE("sigmoid'", nd::sigmoid(v), sigmoid(x) * (1 - sigmoid(x))), 6,
     [](double x) { return x > 0 ? 1. : 0.; }, kLeastSigmoid},
    {KILN_SLOPE("tanh'", nd::tanh(v), 1 - tanh(x) * tanh(x)), 4, [](double) { return 1.0; }},
    {KILN_SLOPE("softrelu'", nd::Activation(v, {.act_type = "softrelu"}), -expm1(-softrelu(x))), 5},
    {KILN_SLOPE("elu'", nd::LeakyReLU(v, {.act_type = "elu", .slope = 0.5}),
                x.v <= 0 ? 0.5 * exp(x) : decltype(x)(1)),
     3},
    {KILN_SLOPE("selu'", nd::LeakyReLU(v, {.act_type = "selu"}),
                kSeluScale*(x > 0 ? decltype(x)(1) : kSeluAlpha * exp(x))),
     4},
    {KILN_SLOPE("gelu'", nd::LeakyReLU(v, {.act_type = "gelu"}), gelu_slope(x)), 5,
     [](double) { return 1.0; }},
};

/// Of several operators, whose results are rounded to the type.
const Composed kOfSeveral[] = {
    {KILN_COMPOSED("silu", x* nd::sigmoid(x), x* sigmoid(x)), 5, nullptr, 90 * kLeastSigmoid},
    {KILN_COMPOSED("LogisticLoss of 1", loss::LogisticLoss()(x, F::ones_like(x)), logistic(x, 1)), 3},
    {KILN_COMPOSED("LogisticLoss of -1", loss::LogisticLoss()(x, -F::ones_like(x)), logistic(x, 0)), 3},
    {KILN_COMPOSED("SigmoidBCELoss of 1/4", loss::SigmoidBCELoss()(x, F::ones_like(x) / 4),
                   logistic(x, 0.25)),
     3},
    {KILN_COMPOSED("SigmoidBCELoss of 1/4, from a probability",
                   loss::SigmoidBCELoss({.from_sigmoid = true})(x, F::ones_like(x) / 4),
                   cross_entropy(x, 0.25)),
     3},
    {KILN_SLOPE("LogisticLoss' of 1", loss::LogisticLoss()(v, F::ones_like(v)), logistic_slope(x, 1)), 4,
     [](double) { return 1.0; }},
    {KILN_SLOPE("LogisticLoss' of -1", loss::LogisticLoss()(v, -F::ones_like(v)), logistic_slope(x, 0)), 4,
     [](double) { return 1.0; }},
    {KILN_SLOPE("SigmoidBCELoss' of 1/4", loss::SigmoidBCELoss()(v, F::ones_like(v) / 4),
                logistic_slope(x, 0.25)),
     4, [](double) { return 1.0; }},
};

double error(double got, long double want, int digits, int min_exponent, double cancels) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (std::isinf(want) || std::isinf(got)) return got == want ? 0 : wrong;
  const auto unit = [&](long double v) {
    int exponent = min_exponent;
    if (v != 0) std::frexp(v, &exponent);
    return std::ldexp(1.0L, std::max(exponent, min_exponent) - digits);
  };
  const long double distance = std::abs(got - want);
  return static_cast<double>(std::max(0.0L, distance - (cancels > 0 ? unit(cancels) : 0)) / unit(want));
}

template <class T>
std::vector<T> arguments() {
  std::vector<T> x = special_values<T>(), more = every_exponent<T>();
  x.insert(x.end(), more.begin(), more.end());
  std::mt19937_64 random(3);
  for (const double range : {1.0, 6.0, 20.0, 110.0, 800.0})
    for (int i = 0; i < 3000; ++i)
      x.push_back(static_cast<T>((static_cast<double>(random() >> 11) * 0x1p-52 - 1) * range));
  return x;
}

}  // namespace

TEST_CASE("composed functions and their slopes", "[composed_math]") {
  std::vector<Composed> all(std::begin(kFunctions), std::end(kFunctions));
  all.insert(all.end(), std::begin(kSlopes), std::end(kSlopes));
  all.insert(all.end(), std::begin(kOfSeveral), std::end(kOfSeveral));
  for (const Composed& c : all) {
    const auto check = [&](auto zero, auto formula) {
      using T = decltype(zero);
      using L = std::numeric_limits<T>;
      const std::vector<T> x = arguments<T>();
      const std::vector<T> y = c.f(Tensor(x, {static_cast<std::int64_t>(x.size())})).template to_vector<T>();
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double want = formula(Rounded<T>(x[i])).exact();
        const double e = error(y[i], want, L::digits, L::min_exponent, c.cancels ? c.cancels(x[i]) : 0);
        if (y[i] == 0 && std::abs(want) < (sizeof(T) == 4 ? c.flushed : 0)) continue;
        if (e > worst) worst = e, at = i;
      }
      INFO(c.name << (sizeof(T) == 4 ? " float32: " : " float64: ") << worst << " ULP at " << x[at]
                  << " gives " << y[at] << ", the formula " << formula(Rounded<T>(x[at])).v);
      CHECK(worst <= c.bound);
    };
    check(0.f, c.in_float);
    check(0.0, c.in_double);
  }
}

TEST_CASE("composed functions of half precision are those of float32, rounded once", "[composed_math]") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor narrow = every_half(dtype), wide = narrow.astype(DType::f32);
    for (const Composed& c : kFunctions) {
      INFO(c.name << " of " << name_of(dtype));
      CHECK(same_bits(c.f(narrow), c.f(wide).astype(dtype)));
    }
    for (const Composed& c : kSlopes) {
      INFO(c.name << " of " << name_of(dtype));
      // y is rounded in between.
      const std::string_view name = c.name;
      if (name != "gelu'" && name != "elu'" && name != "selu'") continue;
      CHECK(same_bits(c.f(narrow), c.f(wide).astype(dtype)));
    }
  }
}

TEST_CASE("gelu of large negative numbers is a zero, with no gradient", "[composed_math]") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const std::vector<double> numbers{-40, -100, -1e4, -6e4};
    Tensor x = Tensor(numbers, {4}).astype(dtype);
    x.attach_grad();
    const Tensor y = autograd::record([&] { return nd::LeakyReLU(x, {.act_type = "gelu"}); });
    y.backward();
    CHECK(y.to_vector<double>() == std::vector<double>(4, 0));
    CHECK(x.grad().to_vector<double>() == std::vector<double>(4, 0));
  }
  const Tensor far = nd::LeakyReLU(Tensor({-1e30, -3.4e38}, DType::f32), {.act_type = "gelu"});
  CHECK(far.to_vector<float>() == std::vector<float>{0, 0});
}
