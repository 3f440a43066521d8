// MXNet's own numbers: every case of the reference data whose operators Kiln has, eagerly and compiled, on
// one and two threads. The runs must agree bit for bit with each other, and within the case's tolerance with
// MXNet.
#include "golden_files.h"
#include "same_bits.h"

#include <kiln/op_docs.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <set>

using namespace kiln;
using nlohmann::json;

namespace {

const std::set<std::string>& known_operators() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    for (const OpDoc& doc : op_docs()) {
      all.insert(doc.name);
      all.insert(doc.aliases.begin(), doc.aliases.end());
    }
    return all;
  }();
  return names;
}

/// Operators of float16 whose results the definition leaves no choice in: the exact number of the operands,
/// rounded at most once, and no sum of several. They are IEEE 754's operations, remainders, choices and
/// comparisons. The golden cases' tolerance for float16 is made for the others.
const std::set<std::string> exact_in_f16{"abs",
                                         "sign",
                                         "floor",
                                         "ceil",
                                         "round",
                                         "rint",
                                         "trunc",
                                         "sqrt",
                                         "reciprocal",
                                         "negative",
                                         "relu",
                                         "clip",
                                         "BlockGrad",
                                         "make_loss",
                                         "elemwise_add",
                                         "max",
                                         "min",
                                         "broadcast_add",
                                         "broadcast_sub",
                                         "broadcast_mul",
                                         "broadcast_div",
                                         "broadcast_mod",
                                         "broadcast_maximum",
                                         "broadcast_minimum",
                                         "broadcast_equal",
                                         "broadcast_not_equal",
                                         "broadcast_greater",
                                         "broadcast_greater_equal",
                                         "broadcast_lesser",
                                         "broadcast_lesser_equal",
                                         "broadcast_logical_and",
                                         "broadcast_logical_or",
                                         "broadcast_logical_xor",
                                         "_plus_scalar",
                                         "_minus_scalar",
                                         "_mul_scalar",
                                         "_div_scalar",
                                         "_mod_scalar",
                                         "_equal_scalar",
                                         "_not_equal_scalar",
                                         "_greater_scalar",
                                         "_greater_equal_scalar",
                                         "_lesser_scalar",
                                         "_lesser_equal_scalar"};

struct Case {
  std::string name;
  std::string symbol, params, io;  // params may be empty
  json row;
  std::set<std::string> operators;

  /// Whether MXNet's results must come out to the bit.
  bool is_exact() const {
    return row["dtype"] == "float16" && operators.size() == 1 && exact_in_f16.contains(*operators.begin());
  }
  /// Why it is not run; empty when it is.
  std::string skipped() const {
    for (const std::string& op : operators)
      if (!known_operators().contains(op)) return op;
    return {};
  }
};

std::vector<Case> cases_of(const std::string& folder) {
  std::vector<Case> cases;
  for (const json& row : golden::manifest(folder)) {
    Case c;
    c.name = row["name"];
    const auto file = [&](const char* key, const std::string& ending) {
      return golden::path(folder + "/" + row.value(key, c.name + ending));
    };
    c.symbol = file("symbol", "-symbol.json");
    c.params = file("params", "-0000.params");
    c.io = file("io", "-io.params");
    if (!std::filesystem::exists(c.params)) c.params.clear();
    c.row = row;
    const json symbol = json::parse(golden::read_text(c.symbol));
    for (const json& node : symbol["nodes"])
      if (node["op"] != "null") c.operators.insert(node["op"].get<std::string>());
    cases.push_back(std::move(c));
  }
  return cases;
}

// Empty, or how `got` differs from MXNet's array `key`.
std::string difference(const Tensor& got, const Tensor& expected, const Case& c, const std::string& key) {
  const json& row = c.row;
  if (got.shape() != expected.shape() || got.dtype() != expected.dtype()) {
    return fmt::format("{} is {} {}, MXNet's is {} {}", key, name_of(got.dtype()), got.shape().str(),
                       name_of(expected.dtype()), expected.shape().str());
  }
  if (c.is_exact()) return same_bits(got, expected) ? "" : key + " has other bits than MXNet's";
  const double rtol = row["rtol"], atol = row["atol"];
  const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
  std::size_t count = a.size();
  if (row.contains("valid_rows") && row["valid_rows"].contains(key)) {
    const auto rows = row["valid_rows"][key].get<std::size_t>();
    count = a.empty() ? 0 : rows * (a.size() / static_cast<std::size_t>(got.shape()[0]));
  }
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (!golden::close(a[i], b[i], rtol, atol) && wrong++ == 0) first = i;
  if (wrong == 0) return {};
  return fmt::format("{} differs from MXNet's in {} of {} elements; [{}] is {:.9g}, MXNet's is {:.9g}", key,
                     wrong, count, first, a[first], b[first]);
}

class Runner {
 public:
  explicit Runner(const Case& c) : case_(c), model_(Model::load(c.symbol, c.params)), io_(load_arrays(c.io)) {
    for (const NamedArray& a : io_)
      if (a.name.starts_with("in:")) inputs_[a.name.substr(3)] = a.array;
  }

  /// Everything that is wrong with the case, one line each.
  std::vector<std::string> run() {
    const bool train = case_.row["train"];
    compare_with(train, "out:");
    if (has("train_out:") || (has("aux_after:") && !train)) compare_with(true, "train_out:");
    return problems_;
  }

 private:
  bool has(std::string_view prefix) const {
    return std::any_of(io_.begin(), io_.end(),
                       [&](const NamedArray& a) { return a.name.starts_with(prefix); });
  }

  void compare_with(bool train, const std::string& prefix) {
    std::vector<Tensor> first;
    std::vector<NamedArray> first_states;
    for (const RunMode mode : {RunMode::eager, RunMode::compiled}) {
      for (const int threads : {1, 2}) {
        const std::string how =
            fmt::format("{} on {} thread{}{}", mode == RunMode::eager ? "eager" : "compiled", threads,
                        threads == 1 ? "" : "s", train ? ", training" : "");
        random::seed(7);
        PreparedModel prepared = model_.prepare(inputs_, {.mode = mode, .threads = threads, .train = train});
        const std::vector<Tensor> outputs = prepared.run();
        if (first.empty()) {
          first = outputs;
          first_states = prepared.auxiliary_states();
          compare_outputs(outputs, prefix);
          if (train) compare_states(first_states);
          continue;
        }
        for (std::size_t i = 0; i < outputs.size(); ++i)
          if (!same_bits(outputs[i], first.at(i)))
            problem(fmt::format("output {} {} has other bits than eager on 1 thread", i, how));
        const std::vector<NamedArray> states = prepared.auxiliary_states();
        for (std::size_t i = 0; i < states.size(); ++i)
          if (!same_bits(states[i].array, first_states.at(i).array))
            problem(fmt::format("state '{}' {} has other bits than eager on 1 thread", states[i].name, how));
      }
    }
  }

  void compare_outputs(const std::vector<Tensor>& outputs, const std::string& prefix) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string key = prefix + std::to_string(i);
      if (const Tensor* expected = find_array(io_, key)) {
        if (const std::string text = difference(outputs[i], *expected, case_, key); !text.empty())
          problem(text);
      } else if (prefix == "out:") {
        problem(fmt::format("MXNet has no output {}", i));
      }
    }
  }

  // MXNet moves BatchNorm's states in the backward pass, so a case that was made without one tells nothing of
  // them.
  void compare_states(const std::vector<NamedArray>& states) {
    if (!case_.row.value("grad", false)) return;
    for (const NamedArray& state : states)
      if (const Tensor* expected = find_array(io_, "aux_after:" + state.name))
        if (const std::string text = difference(state.array, *expected, case_, "aux_after:" + state.name);
            !text.empty())
          problem(text);
  }

  void problem(const std::string& text) { problems_.push_back(case_.name + ": " + text); }

  const Case& case_;
  Model model_;
  std::vector<NamedArray> io_;
  std::map<std::string, Tensor> inputs_;
  std::vector<std::string> problems_;
};

// Runs the part `part` of `parts` of a folder's cases.
void run_cases(const std::string& folder, std::size_t part = 0, std::size_t parts = 1) {
  const std::vector<Case> cases = cases_of(folder);
  std::size_t ran = 0, skipped = 0, failed = 0;
  for (std::size_t i = part; i < cases.size(); i += parts) {
    const Case& c = cases[i];
    if (!c.skipped().empty()) {
      ++skipped;
      continue;
    }
    ++ran;
    try {
      const std::vector<std::string> problems = Runner(c).run();
      failed += !problems.empty();
      for (const std::string& text : problems) FAIL_CHECK(text);
    } catch (const Error& e) {
      ++failed;
      FAIL_CHECK(c.name << ": " << e.what());
    }
  }
  std::cout << folder << ": " << ran << " cases ran, " << failed << " of them failed; " << skipped
            << " need operators that Kiln does not have\n";
  CHECK(ran > 0);
}

}  // namespace

TEST_CASE("operators, part 1", "[ops1]") { run_cases("ops", 0, 4); }
TEST_CASE("operators, part 2", "[ops2]") { run_cases("ops", 1, 4); }
TEST_CASE("operators, part 3", "[ops3]") { run_cases("ops", 2, 4); }
TEST_CASE("operators, part 4", "[ops4]") { run_cases("ops", 3, 4); }
TEST_CASE("exact operators of float16 are among the cases", "[coverage]") {
  const std::vector<Case> cases = cases_of("ops");
  const auto exact = std::count_if(cases.begin(), cases.end(), [](const Case& c) { return c.is_exact(); });
  std::cout << exact << " cases of float16 are compared to the bit\n";
  CHECK(exact >= 30);
}
TEST_CASE("models", "[models]") { run_cases("models"); }
TEST_CASE("models in old files", "[legacy]") { run_cases("legacy"); }

TEST_CASE("the expected operators are covered", "[coverage]") {
  std::set<std::string> run, missing;
  for (const char* folder : {"ops", "models"})
    for (const Case& c : cases_of(folder)) {
      if (c.skipped().empty()) {
        run.insert(c.operators.begin(), c.operators.end());
      } else {
        missing.insert(c.skipped());
      }
    }
  std::istringstream expected(golden::read_text(golden::path("expected_ops.txt")));
  std::size_t count = 0;
  for (std::string op; expected >> op; ++count)
    if (!run.contains(op)) FAIL_CHECK("no case with the operator " << op << " is run");
  std::cout << run.size() << " operators are run, " << count << " are expected; cases wait for";
  for (const std::string& op : missing) std::cout << " " << op;
  std::cout << "\n";
  CHECK(count > 0);
}

TEST_CASE("random operators have MXNet's statistics", "[random]") {
  std::size_t ran = 0;
  for (const json& row : golden::manifest("random")) {
    const std::string name = row["name"];
    const std::string file = golden::path("random/" + name + "-symbol.json");
    bool known = true;
    const json symbol = json::parse(golden::read_text(file));
    for (const json& node : symbol["nodes"])
      known = known && (node["op"] == "null" || known_operators().contains(node["op"].get<std::string>()));
    if (!known) continue;
    ++ran;
    INFO(name);
    const Model model = Model::load(file);
    const auto dims = row["shape"].get<std::vector<std::int64_t>>();
    const Shape shape{std::span(dims)};
    std::map<std::string, Tensor> inputs;
    for (const std::string& input : model.input_names())
      inputs[input] = row["data"] == "arange" ? arange(static_cast<double>(shape.elements())).reshape(shape)
                                              : full(shape, row["data"].get<double>());
    const auto run = [&](unsigned seed, RunMode mode, int threads) {
      random::seed(static_cast<int>(seed));
      return model.run(inputs, {.mode = mode, .threads = threads, .train = row["train"]})[0];
    };
    const Tensor y = run(1, RunMode::compiled, 1);
    CHECK(same_bits(y, run(1, RunMode::compiled, 2)));
    CHECK(same_bits(y, run(1, RunMode::eager, 1)));
    CHECK(!same_bits(y, run(2, RunMode::compiled, 1)));

    const json& expect = row["expect"];
    const std::vector<double> v = y.to_vector<double>();
    REQUIRE(v.size() == static_cast<std::size_t>(shape.elements()));
    const auto n = static_cast<double>(v.size());
    double sum = 0, squares = 0, zeros = 0;
    for (const double x : v) {
      sum += x;
      zeros += x == 0;
    }
    const double mean = sum / n;
    for (const double x : v) squares += (x - mean) * (x - mean);
    const double deviation = std::sqrt(squares / n);
    CHECK(std::abs(mean - expect["mean"].get<double>()) <= row["mean_tolerance"].get<double>());
    const double wanted = expect["std"];
    CHECK(std::abs(deviation - wanted) <= row["std_relative_tolerance"].get<double>() * wanted);
    const auto [least, most] = std::minmax_element(v.begin(), v.end());
    if (expect.contains("min")) CHECK(*least >= expect["min"].get<double>());
    if (expect.contains("max")) CHECK(*most <= expect["max"].get<double>() * (1 + 1e-6));
    if (expect.contains("zeros")) CHECK(std::abs(zeros / n - expect["zeros"].get<double>()) < 0.05);
    if (expect.value("integer", false))
      CHECK(std::all_of(v.begin(), v.end(), [](double x) { return x == std::floor(x); }));
    if (expect.contains("values"))
      for (const double x : v)
        if (!golden::close(x, expect["values"][0], 1e-6, 0) &&
            !golden::close(x, expect["values"][1], 1e-6, 0))
          FAIL("unexpected value " << x);
    if (expect.contains("constant_along"))
      for (std::size_t i = 0; i < v.size(); ++i) {
        const auto row_length = static_cast<std::size_t>(dims[1]);
        if (v[i] != v[i / row_length * row_length]) FAIL("the mask changes along axis 1");
      }
    if (expect.value("permutation", false)) {
      std::vector<double> sorted = v;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<double>(i));
    }
  }
  std::cout << ran << " random operators ran\n";
  CHECK(ran > 0);
}
