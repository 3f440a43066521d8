// Shapes that contradict an operator's rule are errors, and others are not. Every operator, each input with
// one extent of 1, of 0 and one larger, with one axis more and one less; the expectation is MXNet's
// infer_shape.
#include "shapes/differences.h"
#include "shapes/shape_cases.h"

#include <kiln/op_docs.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <iostream>
#include <regex>
#include <set>

using namespace kiln;
using namespace shapes;
using graphs::Graph;
using graphs::Input;

namespace {

std::string answers_path() { return KILN_TEST_SOURCES "/frontend/shapes/mxnet.txt"; }

/// A subject's call with the shapes of a case, as a symbol.
struct Call {
  Symbol symbol;
  std::vector<Symbol> variables;
  std::vector<Tensor> inputs;
  std::map<std::string, Shape> shapes;

  Call(const Subject& subject, const Case& c, std::uint32_t outputs) {
    Graph graph;
    std::vector<graphs::Ref> refs;
    for (std::size_t i = 0; i < subject.sample.inputs.size(); ++i) {
      const Input& input = subject.sample.inputs[i];
      const Shape& shape = i == c.input ? c.shape : input.shape;
      const std::string name = fmt::format("in{}", i);
      graphs::Values values = input.values;
      if (values.checked) values.limit = 1;  // in range for every shape that has elements to take
      inputs.push_back(
          graphs::make_values(shape, input.dtype.value_or(DType::f32), values, i, /*special=*/false));
      refs.push_back(graph.add_variable(name, inputs.back()));
      variables.push_back(sym::var(name));
      shapes[name] = shape;
    }
    const graphs::Ref node = graph.add(subject.op, "node", refs, subject.sample.attrs);
    graph.nodes[node.node].subgraphs = subject.sample.subgraphs;
    for (std::uint32_t k = 0; k < outputs; ++k) graph.outputs.push_back({node.node, k});
    std::string json = to_json(graph);
    if (c.numpy) json.replace(json.rfind('}'), 1, ", \"attrs\": {\"is_np_shape\": [\"int\", 1]}}");
    symbol = Symbol::load_json(json);
  }
};

/// Kiln's answer; the text of its error.
struct Kiln {
  Answer answer;
  std::string error;
};

template <class Outputs>
Kiln answer_of(Outputs outputs) {
  try {
    return {{Answer::Kind::accepted, outputs()}, ""};
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.kind() == Error::Kind::user);
    return {{Answer::Kind::refused, {}}, e.what()};
  }
}

Kiln by_symbol(const Call& call) {
  return answer_of([&] {
    const InferredShapes inferred = call.symbol.infer_shape(call.shapes);
    CHECK(inferred.complete);
    return inferred.outputs;
  });
}
Kiln by_call(const Call& call, bool hybridized) {
  return answer_of([&] {
    SymbolBlock block(call.symbol, call.variables);
    if (hybridized) block.hybridize();
    std::vector<Shape> shapes;
    for (const Tensor& t : block(call.inputs)) shapes.push_back(t.shape());
    return shapes;
  });
}

std::optional<Difference::Kind> difference_of(const Answer& kiln, const Answer& mxnet) {
  if (mxnet.kind == Answer::Kind::silent) return {};
  if (kiln.kind != mxnet.kind)
    return kiln.kind == Answer::Kind::accepted ? Difference::Kind::accepts : Difference::Kind::refuses;
  return kiln.outputs == mxnet.outputs ? std::optional<Difference::Kind>() : Difference::Kind::other_outputs;
}

/// The message has the symbol's line, once if the node has no bodies, and no line of Kiln.
void check_message(const std::string& message, bool bodies) {
  if (message.empty()) return;
  static const std::regex line("[A-Za-z0-9_]+\\.(cpp|h):[0-9]+");
  for (auto i = std::sregex_iterator(message.begin(), message.end(), line); i != std::sregex_iterator(); ++i)
    CHECK(i->str().starts_with("operator_shapes_test.cpp:"));
  const std::size_t file = message.find("the JSON text:");
  CHECK(file != std::string::npos);
  CHECK((bodies || message.find("the JSON text", file + 1) == std::string::npos));
}

using Answers = std::map<std::string, std::vector<Case>>;

/// Calls `check` with each call of every `parts`th subject, and with MXNet's answer.
template <class Check>
void for_each_call(std::size_t part, std::size_t parts, Check check) {
  const Answers answers = read_answers(answers_path());
  std::size_t number = 0;
  for (const Subject& subject : subjects()) {
    if (number++ % parts != part) continue;
    const auto found = answers.find(subject.key);
    if (found == answers.end()) continue;  // another test reports it
    graphs::Node node{.op = subject.op, .name = "node", .attrs = subject.sample.attrs};
    node.inputs.resize(subject.sample.inputs.size());
    node.subgraphs = subject.sample.subgraphs;
    const std::uint32_t outputs = graphs::outputs_of(node);
    for (const Case& c : found->second) {
      INFO(subject.key);
      INFO("input " << c.input << " of the shape " << c.shape.str() << (c.numpy ? " in numpy mode" : ""));
      INFO("MXNet: " << c.mxnet.str());
      check(subject, c, Call(subject, c, outputs));
    }
  }
}

/// Eager and recorded calls answer as the symbol's inference does: all that it refuses, and one in eight that
/// it accepts, since those compile kernels.
void check_part(std::size_t part, std::size_t parts) {
  std::size_t accepted = 0;
  for_each_call(part, parts, [&](const Subject& subject, const Case&, const Call& call) {
    const Kiln inferred = by_symbol(call);
    if (inferred.answer.kind == Answer::Kind::accepted && accepted++ % 8 != 0) return;
    const Kiln eager = by_call(call, false), recorded = by_call(call, true);
    INFO("Kiln: " << eager.answer.str() << " " << eager.error);
    CHECK(eager.answer.str() == inferred.answer.str());
    CHECK(recorded.answer.str() == inferred.answer.str());
    for (const Kiln* kiln : {&inferred, &eager, &recorded})
      check_message(kiln->error, !subject.sample.subgraphs.empty());
  });
}

}  // namespace

// operator_shapes_test "[.samples]" | python shapes/make.py
TEST_CASE("print the samples", "[.samples]") { std::cout << to_json_lines(subjects()); }

TEST_CASE("MXNet's answers are of these samples", "[mxnet]") {
  const auto answers = read_answers(answers_path());
  std::set<std::string> operators, keys;
  for (const Subject& s : subjects()) {
    INFO(s.key << " has no answers in tests/frontend/shapes/mxnet.txt: run make.py there");
    CHECK(answers.contains(s.key));
    keys.insert(s.key);
    operators.insert(s.op);
  }
  for (const auto& [key, cases] : answers) {
    INFO(key << " is no sample any more: run make.py");
    CHECK(keys.contains(key));
  }
  for (const OpDoc& doc : op_docs()) {
    INFO(doc.name);
    CHECK((operators.contains(doc.name) || doc.inputs.empty()));
  }
}

TEST_CASE("operators refuse the shapes that MXNet's refuse, and no others", "[mxnet]") {
  std::map<const Difference*, std::size_t> found;
  for_each_call(0, 1, [&](const Subject& subject, const Case& c, const Call& call) {
    const Kiln kiln = by_symbol(call);
    const auto kind = difference_of(kiln.answer, c.mxnet);
    if (!kind) return;
    INFO("Kiln: " << kiln.answer.str() << " " << kiln.error);
    const Difference* const known = find_difference(subject.op, *kind);
    CHECK(known);
    ++found[known];
  });
  for (const Difference& d : differences()) {
    INFO(d.operators.front() << ": " << d.reason);
    CHECK(found[&d] == d.cases);
  }
}

TEST_CASE("calls refuse the same shapes as a symbol, part 1", "[shapes1]") { check_part(0, 4); }
TEST_CASE("calls refuse the same shapes as a symbol, part 2", "[shapes2]") { check_part(1, 4); }
TEST_CASE("calls refuse the same shapes as a symbol, part 3", "[shapes3]") { check_part(2, 4); }
TEST_CASE("calls refuse the same shapes as a symbol, part 4", "[shapes4]") { check_part(3, 4); }
