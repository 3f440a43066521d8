// The reference of every operator is complete, and what its fields begin with is true of calls.
#include "graphs/compare.h"
#include "graphs/samples.h"
#include "operator_call.h"
#include "reference/shape_letters.h"

#include <kiln/op_docs.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>
#include <limits>
#include <map>
#include <regex>
#include <set>

using namespace kiln;
using namespace graphs;
using namespace reference;

namespace {

/// The samples of an operator, without the ones that are for many threads.
struct Called {
  OpDoc doc;
  std::vector<Sample> samples;
  bool train = false;
  DType dtype = DType::f32;  ///< that they are accepted with
};

std::vector<Called> called_operators() {
  std::vector<Called> all;
  for (const Row& row : sample_rows())
    for (const std::string& op : row.operators) {
      Called called{op_doc(op), {}, row.train, row.own_dtype()};
      for (const Sample& sample : row.samples)
        if (!sample.large) called.samples.push_back(sample);
      all.push_back(std::move(called));
    }
  return all;
}

DType dtype_of_input(const Input& input, DType dtype) { return input.dtype.value_or(dtype); }

/// The results of an eager call with these values; nothing if Kiln refuses the call.
std::optional<std::vector<Tensor>> results_of(const std::string& op, const Sample& sample,
                                              const std::vector<Tensor>& values) {
  Graph graph;
  std::vector<Ref> inputs;
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs.push_back(graph.add_variable(fmt::format("in{}", i), values[i]));
  const Ref node = graph.add(op, "called", inputs, sample.attrs);
  graph.nodes[node.node].subgraphs = sample.subgraphs;
  graph.outputs = {node};
  try {
    for (std::uint32_t k = 1; k < outputs_of(graph.nodes[node.node]); ++k)
      graph.outputs.push_back({node.node, k});
    return Runner(graph, RunMode::eager).run(1).arrays;
  } catch (const Error& e) {
    INFO(op << ": " << e.what());
    CHECK(e.kind() == Error::Kind::user);
    return std::nullopt;
  }
}

std::vector<Tensor> values_of(const Sample& sample, DType dtype) {
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Input& input = sample.inputs[i];
    values.push_back(
        make_values(input.shape, dtype_of_input(input, dtype), input.values, i, /*special=*/false));
  }
  return values;
}

std::optional<std::vector<Tensor>> results_of(const std::string& op, const Sample& sample, DType dtype) {
  return results_of(op, sample, values_of(sample, dtype));
}

std::vector<Shape> shapes_of(const std::vector<Tensor>& arrays) {
  std::vector<Shape> shapes;
  for (const Tensor& t : arrays) shapes.push_back(t.shape());
  return shapes;
}

/// Whether the dtype of the sample reaches an input, and whether it reaches all inputs.
bool takes_dtype(const Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                     [](const Input& i) { return !i.dtype && i.shape.elements() > 0; });
}
bool of_one_dtype(const Sample& sample) {
  return takes_dtype(sample) && std::none_of(sample.inputs.begin(), sample.inputs.end(),
                                             [](const Input& i) { return i.dtype.has_value(); });
}

/// The dtypes that the beginning of the field `dtypes` promises; nothing for an unknown beginning.
std::optional<std::vector<DType>> promised_dtypes(const std::string& text) {
  const std::pair<const char*, std::vector<DType>> beginnings[] = {
      {"Any", all_dtypes},
      {"Floating", float_dtypes},
      {"Integer", {DType::u8, DType::i8, DType::i32, DType::i64}},
      {"Not bool", number_dtypes},
      {"Float32, int8 or uint8", {DType::f32, DType::u8, DType::i8}},
      {"Float32", {DType::f32}},
      {"Int8 or uint8", {DType::u8, DType::i8}},
      {"Int8", {DType::i8}},
      {"Int32", {DType::i32}},
      {"There is no input", {}}};
  for (const auto& [beginning, dtypes] : beginnings)
    if (text.starts_with(beginning)) return dtypes;
  return std::nullopt;
}

/// The dtypes with which some sample is accepted; of samples of one dtype, if there are any.
std::vector<DType> accepted_dtypes(const Called& called) {
  const auto& samples = called.samples;
  const auto used = std::any_of(samples.begin(), samples.end(), of_one_dtype) ? of_one_dtype : takes_dtype;
  std::vector<DType> accepted;
  for (const DType dtype : all_dtypes)
    for (const Sample& sample : samples)
      if (used(sample) && results_of(called.doc.name, sample, dtype)) {
        accepted.push_back(dtype);
        break;
      }
  return accepted;
}

std::vector<std::string> names_of(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType d : dtypes) names.emplace_back(name_of(d));
  return names;
}

bool is_function_of_each_element(const OpDoc& doc) {
  return std::regex_match(doc.shapes, std::regex(R"(\w+ \(\.\.\.\) -> \(\.\.\.\)\.?)")) &&
         doc.inputs.size() == 1;
}

/// A call of a function of each element with one array of this number.
std::vector<double> of_number(const Called& called, double number, DType dtype) {
  for (const Sample& sample : called.samples) {
    if (sample.inputs.size() != 1 || sample.inputs[0].shape != Shape{17}) continue;
    const auto results = results_of(called.doc.name, sample, {full({17}, number, dtype)});
    if (results) return results->at(0).to_vector<double>();
  }
  return {};
}

/// Whether any float sample has a gradient that is not zero; nothing if no sample has a gradient at all.
std::optional<bool> has_gradient(const Called& called) {
  std::optional<bool> found;
  for (const Sample& sample : called.samples) {
    std::vector<Tensor> inputs = values_of(sample, DType::f32);
    std::vector<OperatorInput> types;
    for (Tensor& t : inputs) {
      types.push_back({t.shape(), t.dtype()});
      if (is_floating(t.dtype())) t.attach_grad();
    }
    try {
      SymbolBlock block = operator_block(called.doc.name, sample.attrs, types, sample.subgraphs);
      Tensors heads;
      {
        const autograd::Record record(called.train);
        for (const Tensor& t : block(inputs))
          if (is_floating(t.dtype())) heads.push_back(t);
      }
      if (heads.empty()) continue;
      Tensors gradients;  // of ones softmax would have the gradient 0
      for (const Tensor& t : heads)
        gradients.push_back(make_values(t.shape(), t.dtype(), {}, gradients.size(), /*special=*/false));
      autograd::backward(heads, gradients);
    } catch (const Error&) {
      continue;
    }
    for (const Tensor& t : inputs) {
      if (!is_floating(t.dtype())) continue;
      if (!found) found = false;
      for (const double v : t.grad().to_vector<double>()) *found = *found || v != 0;
    }
    if (found && *found) break;
  }
  return found;
}

}  // namespace

TEST_CASE("every operator has a complete reference", "[complete]") {
  std::size_t complete = 0;
  const std::vector<OpDoc> docs = op_docs();
  for (const OpDoc& doc : docs) {
    std::vector<std::string> missing;
    const std::pair<const char*, const std::string*> fields[] = {
        {"summary", &doc.summary},   {"shapes", &doc.shapes},   {"dtypes", &doc.dtypes},
        {"nan", &doc.nan},           {"empty", &doc.empty},     {"integers", &doc.integers},
        {"gradient", &doc.gradient}, {"formula", &doc.formula}, {"source", &doc.source},
        {"family", &doc.family}};
    for (const auto& [name, text] : fields)
      if (text->empty()) missing.emplace_back(name);
    for (const OpDoc::Attribute& a : doc.attributes)
      if (a.meaning.empty()) missing.push_back("the meaning of " + a.name);
    if (!doc.summary.ends_with(".")) missing.emplace_back("the full stop of summary");
    // The shapes of a list of inputs need not name it.
    for (const std::string& input : doc.inputs)
      if (!doc.variadic && !std::regex_search(doc.shapes, std::regex("\\b" + input + "\\b")))
        missing.push_back("the shape of " + input);
    INFO(doc.name << " lacks " << fmt::format("{}", fmt::join(missing, ", ")));
    CHECK(missing.empty());
    complete += missing.empty();
  }
  std::cout << complete << " of " << docs.size() << " operators have a complete reference\n";
}

TEST_CASE("the dtypes of a reference are the ones that calls accept", "[dtypes]") {
  for (const Called& called : called_operators()) {
    if (std::none_of(called.samples.begin(), called.samples.end(), takes_dtype)) continue;
    if (called.doc.dtypes.starts_with("Any that the subgraph")) continue;
    INFO(called.doc.name << ": " << called.doc.dtypes);
    const std::optional<std::vector<DType>> promised = promised_dtypes(called.doc.dtypes);
    CHECK(promised.has_value());
    if (promised) CHECK(names_of(accepted_dtypes(called)) == names_of(*promised));
  }
}

TEST_CASE("the result has the dtype that the reference says", "[dtypes]") {
  static const std::regex like(
      R"(Any(?:, one for (?:both|all) inputs)?; the result has (?:the dtype of (\w+)|(it))\..*)");
  std::size_t checked = 0;
  for (const Called& called : called_operators()) {
    std::smatch match;
    if (!std::regex_match(called.doc.dtypes, match, like)) continue;
    const auto& names = called.doc.inputs;
    const auto place = match[2].matched ? 0 : std::find(names.begin(), names.end(), match[1]) - names.begin();
    const auto i = static_cast<std::size_t>(place);
    for (const DType dtype : {DType::f16, DType::f32, DType::i32, DType::boolean})
      for (const Sample& sample : called.samples) {
        if (i >= sample.inputs.size()) continue;
        const auto results = results_of(called.doc.name, sample, dtype);
        if (!results) continue;
        INFO(called.doc.name << ": " << called.doc.dtypes);
        CHECK(name_of(results->at(0).dtype()) == name_of(dtype_of_input(sample.inputs[i], dtype)));
        ++checked;
        break;
      }
  }
  CHECK(checked > 400);
}

TEST_CASE("arrays have the shapes of the reference's letters", "[shapes]") {
  std::size_t parsed = 0;
  for (const Called& called : called_operators()) {
    const std::optional<ShapeLetters> letters = parse_letters(called.doc.shapes);
    if (!letters) continue;
    ++parsed;
    INFO(called.doc.name << ": " << called.doc.shapes);
    for (std::size_t i = 0; i < letters->inputs.size(); ++i) {
      REQUIRE(i < called.doc.inputs.size());
      CHECK(letters->inputs[i].name == called.doc.inputs[i]);
    }
    std::size_t fitting = 0;
    for (const Sample& sample : called.samples) {
      const std::vector<Tensor> values = values_of(sample, called.dtype);
      const auto results = results_of(called.doc.name, sample, values);
      if (!results) continue;
      const bool fit = fits(*letters, shapes_of(values), shapes_of(*results));
      fitting += fit;
      if (!letters->only_form || fit) continue;
      std::vector<std::string> shapes;
      for (const Tensor& t : values) shapes.push_back(t.shape().str());
      INFO(fmt::format("{} -> {}", fmt::join(shapes, ", "), results->at(0).shape().str()));
      CHECK(fit);
    }
    CHECK(fitting > 0);
  }
  std::cout << parsed << " shapes are letters\n";
  CHECK(parsed > 150);
}

TEST_CASE("letters of shapes find extents, or none", "[shapes]") {
  const auto letters = parse_letters("x (N, C, ...), weight (O, C) -> (N, O, ...)");
  REQUIRE(letters);
  CHECK(letters->only_form);
  CHECK(fits(*letters, {{2, 3, 5, 7}, {4, 3}}, {{2, 4, 5, 7}}));
  CHECK_FALSE(fits(*letters, {{2, 3, 5}, {4, 2}}, {{2, 4, 5}}));
  CHECK_FALSE(fits(*letters, {{2, 3, 5}, {4, 3}}, {{2, 4, 6}}));
  const auto around = parse_letters("data (a..., D, b...) -> (a..., 1, b...); D along the axis");
  REQUIRE(around);
  CHECK_FALSE(around->only_form);
  CHECK(fits(*around, {{2, 3, 5}}, {{2, 1, 5}}));
  CHECK_FALSE(fits(*around, {{2, 3, 5}}, {{2, 3, 5}}));
  CHECK_FALSE(parse_letters("args: matrices (M1, N), (M2, N), ... -> (M1 M2 ..., N)"));
}

TEST_CASE("a function of each element has the NaN of its reference", "[nan]") {
  static const std::regex number(R"((true|false|-?\d+(?:\.\d+)?)(?:[.,;]| if x).*)");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::size_t checked = 0;
  for (const Called& called : called_operators()) {
    if (!is_function_of_each_element(called.doc)) continue;
    const std::vector<double> results = of_number(called, nan, DType::f32);
    if (results.empty()) continue;
    INFO(called.doc.name << ": " << called.doc.nan);
    std::smatch match;
    ++checked;
    if (std::regex_match(called.doc.nan, match, number)) {
      const double wanted = match[1] == "true" ? 1 : match[1] == "false" ? 0 : std::stod(match[1]);
      CHECK(results == std::vector<double>(17, wanted));
    } else if (std::regex_match(called.doc.nan, std::regex(R"(NaN(?! is\b).*)"))) {
      CHECK(std::all_of(results.begin(), results.end(), [](double v) { return std::isnan(v); }));
    } else if (called.doc.nan.starts_with("Copied")) {
      CHECK(std::any_of(results.begin(), results.end(), [](double v) { return std::isnan(v); }));
    } else if (called.doc.nan.find("NaN if") == std::string::npos) {
      CHECK(std::none_of(results.begin(), results.end(), [](double v) { return std::isnan(v); }));
    }
  }
  CHECK(checked > 80);
}

TEST_CASE("a function of two arrays that keeps NaN keeps it from either", "[nan]") {
  const Tensor nan = full({3, 5}, std::numeric_limits<double>::quiet_NaN()), one = ones({3, 5});
  std::size_t checked = 0;
  for (const Called& called : called_operators()) {
    if (!called.doc.nan.starts_with("NaN if lhs or rhs is.") || called.doc.inputs.size() != 2) continue;
    INFO(called.doc.name << ": " << called.doc.nan);
    for (const auto& inputs : {std::vector{nan, one}, std::vector{one, nan}}) {
      const auto results = results_of(called.doc.name, Sample{}, inputs);
      REQUIRE(results);
      for (const double v : results->at(0).to_vector<double>()) CHECK(std::isnan(v));
    }
    ++checked;
  }
  CHECK(checked > 5);
}

TEST_CASE("an index that is no number selects the element of its reference", "[nan]") {
  const Tensor data = make_values({5}, DType::f32, {}, 0, /*special=*/false);
  const std::vector<double> elements = data.to_vector<double>();
  const double first = elements.at(0), wrapped = elements.at(2);  // -2^63 mod 5
  REQUIRE(((std::numeric_limits<std::int64_t>::min() % 5) + 5) % 5 == 2);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double index : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
    const std::vector<Tensor> values{data, full({1}, index)};
    INFO(index);
    for (const std::string op : {"take", "pick"}) {
      INFO(op);
      const std::string element = op == "take" ? "slice" : "element";
      CHECK(op_doc(op).nan.find("as an infinity: the least int64. clip takes " + element + " 0, wrap " +
                                element + " -2^63 mod D") != std::string::npos);
      for (const bool wrap : {false, true}) {
        Sample sample;
        sample.attrs = {{"axis", "0"}, {"mode", wrap ? "wrap" : "clip"}};
        const auto results = results_of(op, sample, values);
        REQUIRE(results);
        CHECK(results->at(0).to_vector<double>() == std::vector{wrap ? wrapped : first});
      }
    }
    Sample raising;
    raising.attrs = {{"mode", "raise"}};
    CHECK_FALSE(results_of("take", raising, values));
    CHECK(op_doc("take").nan.ends_with("raise throws."));
  }
}

TEST_CASE("initial is the result of no elements, truncated among integers", "[empty]") {
  const auto total = [](const char* op, const Shape& shape, DType dtype) {
    Sample sample;
    sample.attrs = {{"initial", "2.7"}};
    const auto results = results_of(op, sample, {ones(shape, dtype)});
    REQUIRE(results);
    return results->at(0).to_vector<double>();
  };
  for (const char* op : {"_np_sum", "_np_prod"}) {
    const OpDoc doc = op_doc(op);
    CHECK(doc.empty.ends_with(", or initial."));
    CHECK(doc.attributes.back().meaning.ends_with(
        "If integers are reduced, it is truncated and wrapped to their dtype."));
    CHECK(total(op, {0}, DType::f64) == std::vector{2.7});
    CHECK(total(op, {0}, DType::i32) == std::vector{2.0});
  }
  CHECK(total("_np_sum", {3}, DType::i32) == std::vector{5.0});
  CHECK(total("_np_max", {3}, DType::i32) == std::vector{2.0});
}

TEST_CASE("integers that a function leaves unchanged are unchanged", "[integers]") {
  for (const Called& called : called_operators())
    if (is_function_of_each_element(called.doc) && called.doc.integers.starts_with("Unchanged."))
      for (const double n : {-3, 0, 7}) {
        INFO(called.doc.name << " of " << n);
        const std::vector<double> results = of_number(called, n, DType::i32);
        CHECK((results.empty() || results == std::vector<double>(17, n)));
      }
}

TEST_CASE("an operator whose gradient is none passes none", "[gradient]") {
  for (const Called& called : called_operators()) {
    const std::optional<bool> passes = has_gradient(called);
    if (!passes) continue;
    INFO(called.doc.name << ": " << called.doc.gradient);
    CHECK(*passes == !called.doc.gradient.starts_with("None"));
  }
}
