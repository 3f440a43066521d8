// Gradients of pointwise operators at zeros, at numbers far from 1 and at infinities. Where the result and
// its derivative are finite, the gradient is the derivative, and never NaN because of a branch that was not
// taken; at kinks it is MXNet's.
#include "graphs/samples.h"
#include "operator_call.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>
#include <set>

using namespace kiln;
using namespace graphs;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), pi = std::numbers::pi;
constexpr double none = std::numeric_limits<double>::quiet_NaN();  // no derivative that is finite

/// As numbers of the dtype.
std::vector<double> extremes(DType dtype) {
  std::vector<double> all{0.0, -0.0, infinity, -infinity, none};
  for (const double size : {1e-30, 100.0, 1e30})
    for (const double v : {size, -size})
      all.push_back(dtype == DType::f32 ? static_cast<double>(static_cast<float>(v)) : v);
  return all;
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double zero(double) { return 0; }
double one(double) { return 1; }

/// psi at the numbers above.
double digamma(double x) {
  if (x == 100) return 4.6001618527380874;
  if (x > 1e20) return std::log(x);
  return std::abs(x) < 1e-20 && x != 0 ? -1 / x : none;
}

struct UnaryCase {
  std::string op;
  double (*derivative)(double x);
  Attributes attrs = {};
};

const std::vector<UnaryCase>& unary_cases() {
  static const std::vector<UnaryCase> cases{
      {"abs", sign},
      {"sign", zero},
      {"ceil", zero},
      {"floor", zero},
      {"round", zero},
      {"rint", zero},
      {"trunc", zero},
      {"fix", zero},
      {"logical_not", zero},
      {"zeros_like", zero},
      {"ones_like", zero},
      {"_copy", one},
      {"make_loss", one},
      {"MakeLoss", one},
      {"_contrib_gradientmultiplier", one},
      {"negative", [](double) { return -1.0; }},
      {"square", [](double x) { return 2 * x; }},
      {"reciprocal", [](double x) { return -1 / x / x; }},
      {"sqrt", [](double x) { return 0.5 / std::sqrt(x); }},
      {"rsqrt", [](double x) { return -0.5 / x / std::sqrt(x); }},
      {"cbrt", [](double x) { return 1 / (3 * std::cbrt(x) * std::cbrt(x)); }},
      {"rcbrt", [](double x) { return -1 / (3 * x * std::cbrt(x)); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"expm1", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return x < 0 ? none : 1 / x; }},
      {"log2", [](double x) { return x < 0 ? none : 1 / x / std::numbers::ln2; }},
      {"log10", [](double x) { return x < 0 ? none : 1 / x / std::numbers::ln10; }},
      {"log1p", [](double x) { return x < -1 ? none : 1 / (1 + x); }},
      {"sin", [](double x) { return std::cos(x); }},
      {"cos", [](double x) { return -std::sin(x); }},
      {"tan", [](double x) { return 1 + std::tan(x) * std::tan(x); }},
      {"arcsin", [](double x) { return 1 / std::sqrt((1 - x) * (1 + x)); }},
      {"arccos", [](double x) { return -1 / std::sqrt((1 - x) * (1 + x)); }},
      {"arctan", [](double x) { return 1 / (1 + x * x); }},
      {"sinh", [](double x) { return std::cosh(x); }},
      {"cosh", [](double x) { return std::sinh(x); }},
      {"tanh", [](double x) { return 1 / std::cosh(x) / std::cosh(x); }},
      {"arcsinh", [](double x) { return 1 / std::hypot(1, x); }},
      {"arccosh", [](double x) { return 1 / (std::sqrt(x - 1) * std::sqrt(x + 1)); }},
      {"arctanh", [](double x) { return std::abs(x) < 1 ? 1 / ((1 - x) * (1 + x)) : none; }},
      {"degrees", [](double) { return 180 / pi; }},
      {"radians", [](double) { return pi / 180; }},
      {"erf", [](double x) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); }},
      {"erfinv", [](double x) { return std::abs(x) < 1e-20 ? std::sqrt(pi) / 2 : none; }},
      {"gamma", [](double x) { return std::tgamma(x) * digamma(x); }},
      {"gammaln", digamma},
      {"sigmoid", [](double x) { return std::exp(-std::abs(x)) / std::pow(1 + std::exp(-std::abs(x)), 2); }},
      {"softsign", [](double x) { return 1 / (1 + std::abs(x)) / (1 + std::abs(x)); }},
      {"relu", [](double x) { return x > 0 ? 1.0 : 0.0; }},
      {"hard_sigmoid", [](double x) { return std::abs(x) < 2.5 ? static_cast<double>(0.2f) : 0.0; }},
      {"hard_sigmoid",
       [](double x) { return x > 0 && x < 1000 ? 0.001 : 0; },
       {{"alpha", "0.001"}, {"beta", "0"}}},
      {"smooth_l1", [](double x) { return std::abs(x) < 1 ? x : sign(x); }},
      {"clip", [](double x) { return x >= 0 && x <= 100 ? 1.0 : 0.0; }, {{"a_min", "0"}, {"a_max", "100"}}},
      {"_contrib_quadratic", [](double x) { return 6 * x - 2; }, {{"a", "3"}, {"b", "-2"}}},
      {"_contrib_div_sqrt_dim", one},
      {"Cast", one, {{"dtype", "float64"}}},
      {"amp_cast", one, {{"dtype", "float32"}}},
      {"Activation", [](double x) { return x > 0 ? 1.0 : 0.0; }, {{"act_type", "relu"}}},
      {"Activation", [](double x) { return 1 / std::cosh(x) / std::cosh(x); }, {{"act_type", "tanh"}}},
      {"Activation", [](double x) { return 1 / (1 + std::exp(-x)); }, {{"act_type", "softrelu"}}},
      {"Activation",
       [](double x) { return 1 / (1 + std::abs(x)) / (1 + std::abs(x)); },
       {{"act_type", "softsign"}}},
      {"LeakyReLU", [](double x) { return x > 0 ? 1 : 0.1; }, {{"act_type", "leaky"}, {"slope", "0.1"}}},
      {"LeakyReLU",
       [](double x) { return x > 0 ? 1 : 0.5 * std::exp(x); },
       {{"act_type", "elu"}, {"slope", "0.5"}}},
      {"LeakyReLU",
       [](double x) { return 1.0507009873554805 * (x > 0 ? 1 : 1.6732632423543772 * std::exp(x)); },
       {{"act_type", "selu"}}},
      {"LeakyReLU",
       [](double x) {
         if (std::isinf(x)) return x > 0 ? 1.0 : 0.0;
         return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * std::exp(-x * x / 2) / std::sqrt(2 * pi);
       },
       {{"act_type", "gelu"}}},
      {"LeakyReLU",
       [](double x) { return x > 0 ? 1 : 0.5; },
       {{"act_type", "rrelu"}, {"lower_bound", "0.25"}, {"upper_bound", "0.75"}}},
      {"_plus_scalar", one, {{"scalar", "2.5"}}},
      {"_minus_scalar", one, {{"scalar", "2.5"}}},
      {"_rminus_scalar", [](double) { return -1.0; }, {{"scalar", "2.5"}}},
      {"_mul_scalar", [](double) { return 2.5; }, {{"scalar", "2.5"}}},
      {"_div_scalar", [](double) { return 0.4; }, {{"scalar", "2.5"}}},
      {"_rdiv_scalar", [](double x) { return -2.5 / x / x; }, {{"scalar", "2.5"}}},
      {"_mod_scalar", one, {{"scalar", "2.5"}}},
      {"_rmod_scalar", [](double x) { return x == 0 ? none : -std::floor(2.5 / x); }, {{"scalar", "2.5"}}},
      {"_maximum_scalar", [](double x) { return x >= 0 ? 1.0 : 0.0; }, {{"scalar", "0"}}},
      {"_minimum_scalar", [](double x) { return x <= 0 ? 1.0 : 0.0; }, {{"scalar", "0"}}},
      {"_hypot_scalar", [](double x) { return x == 0 ? 0 : x / std::hypot(x, 3); }, {{"scalar", "3"}}},
      {"_hypot_scalar", sign, {{"scalar", "0"}}},
      {"_power_scalar", [](double x) { return 2 * x; }, {{"scalar", "2"}}},
      {"_power_scalar", one, {{"scalar", "1"}}},
      {"_power_scalar", zero, {{"scalar", "0"}}},
      {"_power_scalar", [](double x) { return 0.5 / std::sqrt(x); }, {{"scalar", "0.5"}}},
      {"_power_scalar", [](double x) { return -1 / x / x; }, {{"scalar", "-1"}}},
      {"_rpower_scalar", [](double x) { return std::pow(2, x) * std::numbers::ln2; }, {{"scalar", "2"}}},
      {"_rpower_scalar", zero, {{"scalar", "1"}}},
      {"_rpower_scalar", [](double x) { return x > 0 ? 0 : none; }, {{"scalar", "0"}}},
      {"_equal_scalar", zero},
      {"_not_equal_scalar", zero},
      {"_greater_scalar", zero},
      {"_greater_equal_scalar", zero},
      {"_lesser_scalar", zero},
      {"_lesser_equal_scalar", zero},
      {"_logical_and_scalar", zero},
      {"_logical_or_scalar", zero},
      {"_logical_xor_scalar", zero},
  };
  return cases;
}

struct Partials {
  double lhs, rhs;
};
struct BinaryCase {
  std::vector<std::string> ops;
  Partials (*partials)(double a, double b);
};

const std::vector<BinaryCase>& binary_cases() {
  constexpr auto constant = [](double, double) { return Partials{0, 0}; };
  static const std::vector<BinaryCase> cases{
      {{"elemwise_add", "broadcast_add"},
       [](double, double) {
         return Partials{1, 1};
       }},
      {{"elemwise_sub", "broadcast_sub"},
       [](double, double) {
         return Partials{1, -1};
       }},
      {{"elemwise_mul", "broadcast_mul"},
       [](double a, double b) {
         return Partials{b, a};
       }},
      {{"elemwise_div", "broadcast_div"},
       [](double a, double b) {
         return Partials{1 / b, -a / b / b};
       }},
      {{"_mod", "broadcast_mod"},
       [](double a, double b) {
         return b == 0 ? Partials{none, none} : Partials{1, -std::floor(a / b)};
       }},
      {{"_power", "broadcast_power"},
       [](double a, double b) {
         const double in_b = a > 0 ? std::pow(a, b) * std::log(a) : a == 0 && b > 0 ? 0 : none;
         return Partials{b == 0 ? 0 : b * std::pow(a, b - 1), in_b};
       }},
      {{"_maximum", "broadcast_maximum"},
       [](double a, double b) {
         return a >= b ? Partials{1, 0} : Partials{0, 1};
       }},
      {{"_minimum", "broadcast_minimum"},
       [](double a, double b) {
         return a <= b ? Partials{1, 0} : Partials{0, 1};
       }},
      {{"_hypot", "broadcast_hypot"},
       [](double a, double b) {
         const double r = std::hypot(a, b);
         return r == 0 ? Partials{0, 0} : Partials{a / r, b / r};
       }},
      {{"_equal", "_not_equal", "_greater", "_greater_equal", "_lesser", "_lesser_equal", "_logical_and",
        "_logical_or", "_logical_xor", "broadcast_equal", "broadcast_not_equal", "broadcast_greater",
        "broadcast_greater_equal", "broadcast_lesser", "broadcast_lesser_equal", "broadcast_logical_and",
        "broadcast_logical_or", "broadcast_logical_xor"},
       constant},
  };
  return cases;
}

double largest(DType d) {
  return d == DType::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

/// The results and the gradients of their sum.
struct Run {
  std::vector<double> results;
  std::vector<std::vector<double>> gradients;
};
Run run(const std::string& op, const Attributes& attrs, const std::vector<std::vector<double>>& values,
        DType dtype) {
  std::vector<OperatorInput> types;
  std::vector<Tensor> inputs;
  for (const std::vector<double>& v : values) {
    const Shape shape{static_cast<std::int64_t>(v.size()), 1};  // _contrib_div_sqrt_dim divides by 1
    types.push_back({shape, dtype});
    Tensor t = zeros(shape, dtype);
    t.copy_from(v.data(), DType::f64);
    t.attach_grad();
    inputs.push_back(std::move(t));
  }
  SymbolBlock block = operator_block(op, attrs, types);
  std::vector<Tensor> out;
  {
    const autograd::Record record(/*train=*/false);
    out = block(inputs);
  }
  autograd::backward({out[0]});
  Run r{out[0].to_vector<double>(), {}};
  for (const Tensor& t : inputs) r.gradients.push_back(t.grad().to_vector<double>());
  return r;
}

void check_gradient(const std::string& what, DType dtype, double result, double gradient, double derivative) {
  if (!std::isfinite(result) || !(std::abs(derivative) <= largest(dtype))) return;
  INFO(what << " in " << name_of(dtype) << " is " << result << ", its derivative " << derivative
            << ", the gradient " << gradient);
  CHECK(std::abs(gradient - derivative) <= 1e-4 * std::abs(derivative) + 1e-6);
}

}  // namespace

TEST_CASE("functions of one array", "[gradient_extremes]") {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const UnaryCase& c : unary_cases()) {
      const std::vector<double> x = extremes(dtype);
      const Run r = run(c.op, c.attrs, {x}, dtype);
      std::string attrs;
      for (const auto& [name, value] : c.attrs) attrs += fmt::format(", {}={}", name, value);
      for (std::size_t i = 0; i < x.size(); ++i)
        check_gradient(fmt::format("{}({}{})", c.op, x[i], attrs), dtype, r.results[i], r.gradients[0][i],
                       c.derivative(x[i]));
    }
}

TEST_CASE("functions of two arrays", "[gradient_extremes]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::vector<double> numbers = extremes(dtype);
    std::vector<double> a, b;
    for (const double x : numbers)
      for (const double y : numbers) a.push_back(x), b.push_back(y);
    for (const BinaryCase& c : binary_cases())
      for (const std::string& op : c.ops) {
        const Run r = run(op, {}, {a, b}, dtype);
        for (std::size_t i = 0; i < a.size(); ++i) {
          const Partials d = c.partials(a[i], b[i]);
          const std::string what = fmt::format("{}({}, {})", op, a[i], b[i]);
          check_gradient("lhs of " + what, dtype, r.results[i], r.gradients[0][i], d.lhs);
          check_gradient("rhs of " + what, dtype, r.results[i], r.gradients[1][i], d.rhs);
        }
      }
  }
}

TEST_CASE("softmax and log_softmax of numbers far apart", "[gradient_extremes]") {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const double far : {100.0, 1e30})
      for (const std::string op : {"softmax", "softmin", "log_softmax"}) {
        Tensor x = zeros({2, 3}, dtype);
        const double values[] = {far, 0, -far, -far, -far, far};
        x.copy_from(values, DType::f64);
        x.attach_grad();
        SymbolBlock block = operator_block(op, {}, {{x.shape(), dtype}});
        Tensor y;
        {
          const autograd::Record record;
          y = block({x})[0];
        }
        autograd::backward({y});
        INFO(op << " at " << far);
        for (const double g : x.grad().to_vector<double>()) CHECK(std::isfinite(g));
      }
}

TEST_CASE("every pointwise operator stands in a table", "[gradient_extremes]") {
  std::set<std::string> known{
      "BlockGrad",      // no gradient at all
      "amp_multicast",  // amp_cast for each of several arrays
      "Dropout",        // a random factor
      "add_n",         "where", "LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"};
  for (const UnaryCase& c : unary_cases()) known.insert(c.op);
  for (const BinaryCase& c : binary_cases()) known.insert(c.ops.begin(), c.ops.end());
  for (const Row& row : pointwise_rows())
    for (const std::string& op : row.operators) {
      INFO(op);
      CHECK(known.contains(op));
    }
}
