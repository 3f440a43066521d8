// MXNet's gradients: every case of the reference data that lists some, eagerly and hybridized, on one and two
// threads. The runs must agree bit for bit with each other, and within the case's tolerance with MXNet.
#include "golden_files.h"
#include "same_bits.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <set>

using namespace kiln;
using nlohmann::json;

namespace {

/// MXNet's gradients that contradict mathematics, with the reason (tests/golden/README.md).
const std::set<std::string> wrong_in_mxnet{
    "np_std__all",        "np_std__ax",    "np_std__keep", "np_std__tup", "np_var__tup",  // zero
    "LeakyReLU__selu_r4", "gluon_SELU__a",  // scale * (alpha + y) below 0
    "np_matmul__bc",                        // of the broadcast operand
    "controlflow",                          // a model; not the derivatives (see the last test case)
};

std::string difference(const Tensor& got, const Tensor& expected, const json& row) {
  if (got.shape() != expected.shape() || got.dtype() != expected.dtype())
    return fmt::format("is {} {}, MXNet's is {} {}", name_of(got.dtype()), got.shape().str(),
                       name_of(expected.dtype()), expected.shape().str());
  const double rtol = row["rtol"], atol = row["atol"];
  const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!golden::close(a[i], b[i], rtol, atol) && wrong++ == 0) first = i;
  if (wrong == 0) return {};
  return fmt::format("differs from MXNet's in {} of {} elements; [{}] is {:.9g}, MXNet's is {:.9g}", wrong,
                     a.size(), first, a[first], b[first]);
}

class Case {
 public:
  Case(const std::string& folder, const json& row) : row_(row), name_(row["name"]) {
    const auto file = [&](const char* key, const std::string& ending) {
      return golden::path(folder + "/" + row.value(key, name_ + ending));
    };
    symbol_ = file("symbol", "-symbol.json");
    params_ = file("params", "-0000.params");
    if (!std::filesystem::exists(params_)) params_.clear();
    const std::string io = file("io", "-io.params");
    if (!std::filesystem::exists(io)) return;
    for (const NamedArray& a : load_arrays(io)) {
      if (a.name.starts_with("in:")) inputs_[a.name.substr(3)] = a.array;
      if (a.name.starts_with("grad:")) gradients_[a.name.substr(5)] = a.array;
      if (a.name.starts_with("head_grad:")) heads_[std::stoul(a.name.substr(10))] = a.array;
    }
  }

  bool has_gradients() const { return !gradients_.empty(); }
  /// Whether MXNet's are the derivatives.
  bool holds() const { return !wrong_in_mxnet.contains(name_); }
  const std::string& name() const { return name_; }
  const std::map<std::string, Tensor>& expected() const { return gradients_; }
  const json& row() const { return row_; }

  /// The sum of the heads, weighted by their gradients, with element `i` of an array changed by `step`.
  double value(const std::string& of, std::size_t i, float step) const {
    std::vector<std::string> names;
    Tensors inputs;
    const auto moved = [&](const Tensor& array) {
      std::vector<float> values = array.to_vector<float>();
      values[i] += step;
      return Tensor(values, array.shape());
    };
    for (const auto& [name, array] : inputs_) {
      names.push_back(name);
      inputs.push_back(name == of ? moved(array) : array.copy());
    }
    SymbolBlock net = SymbolBlock::imports(symbol_, names, params_);
    for (Parameter p : net.collect_params())
      if (p.name() == of) p.set_data(moved(p.data()));
    const autograd::TrainMode train;
    const Tensors heads = net(inputs);
    double sum = 0;
    for (const auto& [k, weights] : heads_) {
      const std::vector<double> a = heads[k].to_vector<double>(), b = weights.to_vector<double>();
      for (std::size_t e = 0; e < a.size(); ++e) sum += a[e] * b[e];
    }
    return sum;
  }

  /// The gradients by name.
  std::map<std::string, Tensor> run(bool hybridized, int threads) const {
    const ThreadLimit limit(threads);
    random::seed(7);
    std::vector<std::string> names;
    Tensors inputs;
    for (const auto& [name, array] : inputs_) {
      names.push_back(name);
      inputs.push_back(array.copy());
    }
    SymbolBlock net = SymbolBlock::imports(symbol_, names, params_);
    if (hybridized) net.hybridize();
    for (Tensor& t : inputs)
      if (is_floating(t.dtype())) t.attach_grad();
    Tensors heads;
    {
      const autograd::Record record;
      heads = net(inputs);
    }
    Tensors kept, head_gradients;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const auto given = heads_.find(i);
      // If one value is several heads, MXNet's gradient is the last one's alone.
      const bool again = std::any_of(heads.begin() + static_cast<std::ptrdiff_t>(i) + 1, heads.end(),
                                     [&](const Tensor& later) { return later.data() == heads[i].data(); });
      // BlockGrad's results, and integers, have no history and pass nothing.
      if (given == heads_.end() || again || !autograd::is_recorded(heads[i])) continue;
      kept.push_back(heads[i]);
      head_gradients.push_back(given->second);
    }
    if (!kept.empty()) autograd::backward(kept, head_gradients);
    std::map<std::string, Tensor> out;
    for (const auto& [name, array] : gradients_) {
      const auto at = std::find(names.begin(), names.end(), name);
      out[name] = at != names.end() ? inputs[static_cast<std::size_t>(at - names.begin())].grad().copy()
                                    : net.collect_params()[name].grad().copy();
    }
    return out;
  }

 private:
  json row_;
  std::string name_, symbol_, params_;
  std::map<std::string, Tensor> inputs_, gradients_;
  std::map<std::size_t, Tensor> heads_;
};

/// Everything that is wrong with the case.
std::vector<std::string> problems_of(const Case& c) {
  std::vector<std::string> problems;
  try {
    const std::map<std::string, Tensor> first = c.run(false, 1);
    for (const auto& [name, expected] : c.expected())
      if (const std::string d = c.holds() ? difference(first.at(name), expected, c.row()) : ""; !d.empty())
        problems.push_back(fmt::format("{}: grad:{} {}", c.name(), name, d));
    for (const bool hybridized : {false, true})
      for (const int threads : {1, 2}) {
        if (!hybridized && threads == 1) continue;
        for (const auto& [name, got] : c.run(hybridized, threads))
          if (!same_bits(got, first.at(name)))
            problems.push_back(fmt::format("{}: grad:{} {} on {} threads has other bits than eager on 1",
                                           c.name(), name, hybridized ? "hybridized" : "eager", threads));
      }
  } catch (const Error& e) {
    problems.push_back(c.name() + ": " + e.what());
  }
  return problems;
}

void check(const std::string& folder, std::size_t part, std::size_t parts) {
  std::size_t ran = 0, number = 0, wrong = 0;
  const char* const only = std::getenv("KILN_GOLDEN_CASE");
  for (const json& row : golden::manifest(folder)) {
    if (number++ % parts != part) continue;
    if (only && row["name"] != only) continue;
    const Case c(folder, row);
    if (!c.has_gradients()) continue;
    ++ran;
    for (const std::string& problem : problems_of(c)) {
      std::cout << problem << "\n";
      ++wrong;
    }
  }
  std::cout << folder << ": gradients of " << ran << " cases\n";
  CHECK(ran > 0);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("gradients of operators, part 1", "[gradient_ops1]") { check("ops", 0, 4); }
TEST_CASE("gradients of operators, part 2", "[gradient_ops2]") { check("ops", 1, 4); }
TEST_CASE("gradients of operators, part 3", "[gradient_ops3]") { check("ops", 2, 4); }
TEST_CASE("gradients of operators, part 4", "[gradient_ops4]") { check("ops", 3, 4); }
TEST_CASE("gradients of models", "[gradient_models]") { check("models", 0, 1); }

TEST_CASE("the gradients of a model that MXNet's contradict are the derivatives", "[gradient_models]") {
  for (const json& row : golden::manifest("models")) {
    const Case c("models", row);
    if (!c.has_gradients() || c.holds()) continue;
    for (const auto& [name, gradient] : c.run(false, 1)) {
      const std::vector<double> got = gradient.to_vector<double>();
      for (std::size_t i = 0; i < got.size(); ++i) {
        const float step = 1e-2f;
        const double slope = (c.value(name, i, step) - c.value(name, i, -step)) / (2 * step);
        INFO(c.name() << ", " << name << "[" << i << "]");
        CHECK(got[i] == Approx(slope).epsilon(2e-2).margin(5e-3));
      }
    }
  }
}
