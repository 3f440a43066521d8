// Gradients of operators against differences of their results, in float64; and gradients of gradients against
// differences of gradients. The calls are the samples of support/graphs/samples_*.cpp.
#include "graphs/samples.h"
#include "operator_call.h"

#include <kiln/op_docs.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>

using namespace kiln;
using namespace graphs;

namespace {

/// Operators without a check of their gradients, each with the reason.
const std::map<std::string, std::string>& not_checked() {
  static const std::map<std::string, std::string> reasons{
      // Gradients that MXNet defines, and that are not derivatives (gradient_golden_test checks them).
      {"SoftmaxOutput", "the gradient of a loss"},
      {"LinearRegressionOutput", "the gradient of a loss"},
      {"MAERegressionOutput", "the gradient of a loss"},
      {"LogisticRegressionOutput", "the gradient of a loss"},
      {"MakeLoss", "its head does not count"},
      {"make_loss", "its head does not count"},
      {"BlockGrad", "it has none"},
      {"_contrib_gradientmultiplier", "a multiple"},
      // A gradient that Kiln defines, and that is no derivative (recording_scope_test checks it).
      {"_overwritten", "the head is the variable's, and its contents have none"},
      // Samples with attributes at which differences say nothing.
      {"Cast", "the rounding to another type is no smooth function"},
      {"amp_cast", "the rounding to another type is no smooth function"},
      {"_mod_scalar scalar=1e-40", "more jumps than numbers"},
      {"_npi_mod_scalar scalar=0", "the remainder of a division by zero is 0 by definition"},
      {"_power_scalar scalar=inf", "infinite or zero everywhere but at 1"},
  };
  return reasons;
}

/// Whether an operator takes no float64, and has no gradient by its reference: an operator of integers.
bool is_of_integers(const Row& row, const OpDoc& doc) {
  return std::find(row.dtypes.begin(), row.dtypes.end(), DType::f64) == row.dtypes.end() &&
         doc.gradient.starts_with("None");
}

/// Operators without derivatives of their gradient, with the reason. The error message for such a derivative
/// names the operator.
const std::map<std::string, std::string>& first_order_only() {
  static const std::string loop = "a loop within the operator has no gradient rule";
  static const std::map<std::string, std::string> reasons{{"RNN", loop}, {"CTCLoss", loop}};
  return reasons;
}

/// Outputs that have no gradient in MXNet though they depend on inputs.
bool has_head(const std::string& op, std::size_t output) {
  static const std::set<std::string> first_only{"BatchNorm", "_contrib_BatchNormWithReLU",
                                                "_contrib_SyncBatchNorm"};
  return output == 0 || !first_only.contains(op);
}

std::vector<double> numbers(std::mt19937_64& random, std::int64_t count, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> v(static_cast<std::size_t>(count));
  for (double& x : v) x = uniform(random);
  return v;
}

Tensor tensor(const Shape& shape, DType dtype, const std::vector<double>& values) {
  Tensor t = zeros(shape, dtype);
  if (!values.empty()) t.copy_from(values.data(), DType::f64);
  return t;
}

double inner(const Tensor& a, const std::vector<double>& b) {
  const std::vector<double> v = a.to_vector<double>();
  double sum = 0;
  for (std::size_t i = 0; i < v.size(); ++i) sum += v[i] * b[i];
  return sum;
}

using Lists = std::vector<std::vector<double>>;

/// One sample of an operator, with inputs in an interval, as a function of its floating inputs.
class Call {
 public:
  Call(const std::string& op, const Row& row, const Sample& sample, bool train, double low, double high)
      : op_(op), train_(train), random_(sample.inputs.size() + 17), block_(block_of(op, sample)) {
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const Input& input = sample.inputs[i];
      const DType dtype = input.dtype.value_or(DType::f64);
      const bool whole = input.values.kind == Values::Kind::indices || !is_floating(dtype);
      inputs_.push_back(
          whole ? make_values(input.shape, dtype, input.values, i, false)
                : tensor(input.shape, dtype, numbers(random_, input.shape.elements(), low, high)));
      if (!whole && dtype == DType::f64 && i + row.states < sample.inputs.size()) variables_.push_back(i);
    }
  }

  bool has_variables() const { return !variables_.empty(); }
  std::mt19937_64& random() { return random_; }

  Lists point() const {
    Lists x;
    for (std::size_t i : variables_) x.push_back(inputs_[i].to_vector<double>());
    return x;
  }
  /// The results that may have gradients, recorded; `inputs` are the arrays of variables.
  struct Recorded {
    std::vector<Tensor> inputs, heads;
  };
  Recorded record(const Lists& x) {
    random::seed(7);
    Recorded r;
    std::vector<Tensor> all;
    for (const Tensor& t : inputs_) all.push_back(t.copy());
    for (std::size_t k = 0; k < variables_.size(); ++k) {
      const Tensor& like = inputs_[variables_[k]];
      all[variables_[k]] = tensor(like.shape(), DType::f64, x[k]);
      all[variables_[k]].attach_grad();
      r.inputs.push_back(all[variables_[k]]);
    }
    const std::vector<Tensor> out = block_(all);
    for (std::size_t k = 0; k < out.size(); ++k)
      if (has_head(op_, k) && is_floating(out[k].dtype()) && autograd::is_recorded(out[k]))
        r.heads.push_back(out[k]);
    return r;
  }
  bool train() const { return train_; }

 private:
  static SymbolBlock block_of(const std::string& op, const Sample& sample) {
    std::vector<OperatorInput> types;
    for (const Input& input : sample.inputs) types.push_back({input.shape, input.dtype.value_or(DType::f64)});
    return operator_block(op, sample.attrs, types, sample.subgraphs);
  }

  std::string op_;
  bool train_;
  std::mt19937_64 random_;
  SymbolBlock block_;
  std::vector<Tensor> inputs_;
  std::vector<std::size_t> variables_;
};

bool all_finite(const std::vector<Tensor>& arrays) {
  for (const Tensor& t : arrays)
    for (const double v : t.to_vector<double>())
      if (!std::isfinite(v)) return false;
  return true;
}

/// The weights of the results in the function that is differentiated.
Lists weights(std::mt19937_64& random, const std::vector<Tensor>& arrays) {
  Lists w;
  for (const Tensor& t : arrays) w.push_back(numbers(random, t.shape().elements(), -1, 1));
  return w;
}
std::vector<Tensor> as_tensors(const std::vector<Tensor>& like, const Lists& values) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < like.size(); ++i)
    out.push_back(tensor(like[i].shape(), like[i].dtype(), values[i]));
  return out;
}
double weighted(const std::vector<Tensor>& arrays, const Lists& w) {
  double sum = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) sum += inner(arrays[i], w[i]);
  return sum;
}

Lists moved(const Lists& x, const Lists& direction, double by) {
  Lists y = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < x[i].size(); ++k) y[i][k] += by * direction[i][k];
  return y;
}

/// Random directions and, for few elements, each element.
std::vector<Lists> directions(std::mt19937_64& random, const Lists& x) {
  std::vector<Lists> all(2, x);
  std::size_t elements = 0;
  for (const auto& v : x) elements += v.size();
  for (Lists& d : all)
    for (std::vector<double>& v : d) v = numbers(random, static_cast<std::int64_t>(v.size()), -1, 1);
  if (elements > 12) return all;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < x[i].size(); ++k) {
      Lists d = x;
      for (std::vector<double>& v : d) v.assign(v.size(), 0);
      d[i][k] = 1;
      all.push_back(std::move(d));
    }
  return all;
}

/// The error of the gradient g of `function` at x, by central differences of two steps.
template <class F>
std::optional<std::string> disagreement(std::mt19937_64& random, const Lists& x, const Lists& g, F function) {
  const double value = function(x);
  for (const Lists& d : directions(random, x)) {
    double slope = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t k = 0; k < x[i].size(); ++k) {
        slope += g[i][k] * d[i][k];
        size += std::abs(g[i][k] * d[i][k]);
      }
    double differences[2];
    bool agrees = false;
    int n = 0;
    for (const double step : {1e-6, 1e-3}) {
      const double difference = (function(moved(x, d, step)) - function(moved(x, d, -step))) / (2 * step);
      differences[n++] = difference;
      agrees = agrees || std::abs(difference - slope) <= 1e-5 * size + 1e-7 * (1 + std::abs(value));
    }
    if (!agrees)
      return fmt::format("slope {:.9g}, differences {:.9g} and {:.9g}", slope, differences[0],
                         differences[1]);
  }
  return {};
}

struct Counts {
  std::size_t first = 0, second = 0;
};

/// Gradients of the first and the second order; what is wrong with them.
std::vector<std::string> problems_of(Call& call, const std::string& op, Counts& counts) {
  std::vector<std::string> problems;
  const Lists x = call.point();
  Lists u, g;
  {
    const autograd::Record record(call.train());
    const Call::Recorded r = call.record(x);
    if (r.heads.empty()) return {};
    u = weights(call.random(), r.heads);
    autograd::backward(r.heads, as_tensors(r.heads, u));
    for (const Tensor& t : r.inputs) g.push_back(t.grad().to_vector<double>());
  }
  const auto value = [&](const Lists& at) {
    const autograd::Record record(call.train());
    return weighted(call.record(at).heads, u);
  };
  ++counts.first;
  if (const auto d = disagreement(call.random(), x, g, value)) problems.push_back("gradient: " + *d);

  const auto gradients = [&](const Lists& at, std::vector<Tensor>* variables) {
    const Call::Recorded r = call.record(at);
    if (variables) *variables = r.inputs;
    return autograd::grad(
        r.heads, r.inputs,
        {.head_gradients = as_tensors(r.heads, u), .create_graph = true, .train = call.train()});
  };
  Lists v, h;
  if (first_order_only().contains(op)) {
    std::string error;
    try {
      const autograd::Record record(call.train());
      std::vector<Tensor> variables;
      autograd::backward(gradients(x, &variables));
    } catch (const Error& e) {
      error = e.what();
    }
    if (error.find("has no gradient") == std::string::npos)
      problems.push_back("second order: listed as having none, and the error is '" + error + "'");
    return problems;
  }
  {
    const autograd::Record record(call.train());
    std::vector<Tensor> variables;
    const std::vector<Tensor> first = gradients(x, &variables);
    v = weights(call.random(), first);
    std::vector<Tensor> heads, head_gradients;
    for (std::size_t i = 0; i < first.size(); ++i)
      if (autograd::is_recorded(first[i])) {
        heads.push_back(first[i]);
        head_gradients.push_back(tensor(first[i].shape(), DType::f64, v[i]));
      }
    if (!heads.empty()) autograd::backward(heads, head_gradients);
    for (const Tensor& t : variables) h.push_back(t.grad().to_vector<double>());
  }
  const auto slope = [&](const Lists& at) {
    const autograd::Record record(call.train());
    return weighted(gradients(at, nullptr), v);
  };
  ++counts.second;
  if (const auto d = disagreement(call.random(), x, h, slope)) problems.push_back("second order: " + *d);
  return problems;
}

/// A few samples of different attributes.
std::vector<const Sample*> chosen(const Row& row) {
  constexpr std::size_t most = 4;
  std::vector<const Sample*> all;
  std::set<Attributes> seen;
  for (const Sample& s : row.samples) {
    std::int64_t elements = 0;
    bool empty = false;
    for (const Input& i : s.inputs) {
      elements += i.shape.elements();
      empty = empty || i.shape.elements() == 0;
    }
    if (s.large || empty || elements > 400 || elements < 4 || !seen.insert(s.attrs).second) continue;
    all.push_back(&s);
  }
  std::vector<const Sample*> some;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    some.push_back(all[i * all.size() / std::min(most, all.size())]);
  return some;
}

std::vector<std::string> check_operator(const Row& row, const std::string& op, Counts& counts) {
  std::vector<std::string> problems;
  for (const Sample* sample : chosen(row))
    for (const bool train : {false, true}) {
      if (train && !row.train) continue;
      std::string attrs;
      for (const auto& [name, value] : sample->attrs) attrs += fmt::format(" {}={}", name, value);
      const auto report = [&](const std::string& problem) {
        problems.push_back(fmt::format("{}{}{}: {}", op, attrs, train ? " in training" : "", problem));
      };
      if (not_checked().contains(op + attrs)) continue;
      try {
        // The first interval in which all results are finite; log and arccosh are not finite everywhere.
        for (const auto& [low, high] : {std::pair(-2.0, 2.0), std::pair(0.1, 0.9), std::pair(1.1, 2.9)}) {
          Call call(op, row, *sample, train, low, high);
          if (!call.has_variables()) break;
          {
            const autograd::Record record(train);
            if (!all_finite(call.record(call.point()).heads)) continue;
          }
          for (const std::string& problem : problems_of(call, op, counts)) report(problem);
          break;
        }
      } catch (const Error& e) {
        report(e.what());
      }
    }
  return problems;
}

void check_part(std::size_t part, std::size_t parts) {
  const char* const only = std::getenv("KILN_OPERATOR");
  std::set<std::string> known;
  for (const OpDoc& doc : op_docs()) known.insert(doc.name);
  Counts counts;
  std::size_t number = 0, wrong = 0;
  for (const Row& row : sample_rows())
    for (const std::string& op : row.operators) {
      if (number++ % parts != part || !known.contains(op) || not_checked().contains(op)) continue;
      if ((only && op != only) || is_of_integers(row, op_doc(op))) continue;
      for (const std::string& problem : check_operator(row, op, counts)) {
        std::cout << problem << "\n";
        ++wrong;
      }
    }
  std::cout << counts.first << " gradients, " << counts.second << " of the second order\n";
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("gradients are derivatives, part 1", "[gradient_numeric1]") { check_part(0, 2); }
TEST_CASE("gradients are derivatives, part 2", "[gradient_numeric2]") { check_part(1, 2); }
