// Shape inference: rules that work both ways, one operator at a time, and recurrent graphs as files hold
// them.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;
using golden::error_of;
using nlohmann::json;

namespace {

/// Shapes with unknown extents as 0, and wholly unknown shapes as ().
using Shapes = std::vector<Shape>;

json variable(const std::string& name, const Shape& shape) {
  json node{{"op", "null"}, {"name", name}, {"inputs", json::array()}};
  if (!shape.empty()) node["attrs"] = {{"__shape__", shape.str()}};
  return node;
}

struct Answer {
  Shapes inputs, outputs;
};

/// Infers the shapes around an operator whose inputs, and the variables that its outputs are added to,
/// declare these shapes.
Answer infer(const std::string& op, const json& attrs, const Shapes& inputs, const Shapes& outputs) {
  json nodes = json::array(), heads = json::array(), operands = json::array();
  for (const Shape& s : inputs) {
    operands.push_back({nodes.size(), 0, 0});
    nodes.push_back(variable(fmt::format("in{}", nodes.size()), s));
  }
  const std::size_t node = nodes.size();
  nodes.push_back({{"op", op}, {"name", "node"}, {"attrs", attrs}, {"inputs", operands}});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    nodes.push_back(variable(fmt::format("out{}", i), outputs[i]));
    const json sum = {{node, i, 0}, {nodes.size() - 1, 0, 0}};
    nodes.push_back({{"op", "elemwise_add"}, {"name", fmt::format("sum{}", i)}, {"inputs", sum}});
    heads.push_back({nodes.size() - 1, 0, 0});
  }
  const json file{{"nodes", nodes}, {"arg_nodes", json::array()}, {"heads", heads}};
  const Symbol symbol = Symbol::load_json(file.dump());
  const std::vector<std::string> names = symbol.list_inputs();
  InferredShapes found = symbol.infer_shape({});
  Answer answer;
  // Arguments and auxiliary states in the order of the inputs.
  const std::vector<std::string> arguments = symbol.list_arguments(), states = symbol.list_auxiliary_states();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = fmt::format("in{}", i);
    for (std::size_t k = 0; k < arguments.size(); ++k)
      if (arguments[k] == name) answer.inputs.push_back(found.arguments[k]);
    for (std::size_t k = 0; k < states.size(); ++k)
      if (states[k] == name) answer.inputs.push_back(found.auxiliary_states[k]);
  }
  answer.outputs = found.outputs;
  return answer;
}

struct Case {
  std::string op;
  json attrs;
  Shapes inputs, outputs;                    ///< declared
  Shapes expected_inputs, expected_outputs;  ///< inferred
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const Answer found = infer(c.op, c.attrs, c.inputs, c.outputs);
    INFO(c.op << " " << c.attrs.dump() << " of " << (c.inputs.empty() ? "" : c.inputs[0].str()));
    CHECK(found.inputs == c.expected_inputs);
    CHECK(found.outputs == c.expected_outputs);
  }
}

}  // namespace

TEST_CASE("pointwise operators tie all their shapes", "[inference]") {
  check({
      {"tanh", json::object(), {{0, 3}}, {{2, 0}}, {{2, 3}}, {{2, 3}}},
      {"elemwise_mul", json::object(), {{0, 3}, {2, 0}}, {Shape()}, {{2, 3}, {2, 3}}, {{2, 3}}},
      {"add_n", {{"num_args", "3"}}, {{}, {2, 0}, {}}, {{0, 3}}, {{2, 3}, {2, 3}, {2, 3}}, {{2, 3}}},
      {"_plus_scalar", {{"scalar", "1"}}, {{}}, {{2, 3}}, {{2, 3}}, {{2, 3}}},
      {"Activation", {{"act_type", "tanh"}}, {{2, 0}}, {{0, 3}}, {{2, 3}}, {{2, 3}}},
      {"Dropout", json::object(), {{0, 3}}, {{2, 3}}, {{2, 3}}, {{2, 3}}},
      {"where", json::object(), {{0, 3}, {}, {2, 0}}, {{}}, {{2, 3}, {2, 3}, {2, 3}}, {{2, 3}}},
      {"where", json::object(), {{0}, {}, {2, 0}}, {{0, 3}}, {{2}, {2, 3}, {2, 3}}, {{2, 3}}},
      {"softmax", json::object(), {{0, 3}}, {{2, 0}}, {{2, 3}}, {{2, 3}}},
      {"SequenceMask",
       {{"use_sequence_length", "True"}},
       {{4, 0, 3}, {}},
       {{0, 2, 0}},
       {{4, 2, 3}, {2}},
       {{4, 2, 3}}},
      {"SequenceReverse",
       {{"use_sequence_length", "True"}},
       {{4, 0, 3}, {2}},
       {Shape()},
       {{4, 2, 3}, {2}},
       {{4, 2, 3}}},
      {"SequenceLast", json::object(), {{4, 0, 3}}, {{2, 0}}, {{4, 2, 3}}, {{2, 3}}},
  });
}

TEST_CASE("broadcasting tells only what is sure", "[inference]") {
  const json none = json::object();
  check({
      {"broadcast_add", none, {{0, 3}, {1, 3}}, {{2, 0}}, {{2, 3}, {1, 3}}, {{2, 3}}},
      {"broadcast_add", none, {{0, 3}, {2, 0}}, {{}}, {{0, 3}, {2, 0}}, {{2, 3}}},
      {"broadcast_add", none, {{0, 3}, {0, 1}}, {{1, 0}}, {{1, 3}, {1, 1}}, {{1, 3}}},
      {"broadcast_add", none, {{0, 1}, {0, 0}}, {{}}, {{0, 1}, {0, 0}}, {{0, 0}}},
      {"broadcast_add", none, {{0, 1}, {3}}, {{2, 0}}, {{2, 1}, {3}}, {{2, 3}}},
      {"broadcast_to", {{"shape", "(4, 0)"}}, {{1, 0}}, {{0, 3}}, {{1, 3}}, {{4, 3}}},
      {"broadcast_like", none, {{1, 3}, {0, 3}}, {{2, 0}}, {{1, 3}, {2, 3}}, {{2, 3}}},
      {"broadcast_axis", {{"axis", "0"}, {"size", "5"}}, {{0, 0}}, {{0, 3}}, {{1, 3}}, {{5, 3}}},
  });
}

TEST_CASE("axes move, split and join in both directions", "[inference]") {
  const json channels3{{"num_outputs", "3"}};
  check({
      {"transpose", {{"axes", "(2, 0, 1)"}}, {{}}, {{4, 2, 0}}, {{2, 0, 4}}, {{4, 2, 0}}},
      {"transpose", json::object(), {{0, 3}}, {{0, 2}}, {{2, 3}}, {{3, 2}}},
      {"SwapAxis", {{"dim1", "0"}, {"dim2", "1"}}, {{0, 4, 3}}, {{0, 2, 0}}, {{2, 4, 3}}, {{4, 2, 3}}},
      {"expand_dims", {{"axis", "1"}}, {{0, 3}}, {{2, 0, 0}}, {{2, 3}}, {{2, 1, 3}}},
      {"squeeze", {{"axis", "1"}}, {{0, 0, 3}}, {{2, 0}}, {{2, 1, 3}}, {{2, 3}}},
      {"SliceChannel", channels3, {{0, 12}}, {{2, 0}, {}, {}}, {{2, 12}}, {{2, 4}, {2, 4}, {2, 4}}},
      {"SliceChannel", channels3, {{}}, {{}, {2, 4}, {}}, {{2, 12}}, {{2, 4}, {2, 4}, {2, 4}}},
      {"SliceChannel",
       {{"num_outputs", "2"}, {"axis", "0"}, {"squeeze_axis", "True"}},
       {{}},
       {{3, 4}, {}},
       {{2, 3, 4}},
       {{3, 4}, {3, 4}}},
      {"_split_v2",
       {{"indices", "(0, 2)"}, {"axis", "1"}},
       {{0, 5}},
       {{2, 0}, {0, 3}},
       {{2, 5}},
       {{2, 2}, {2, 3}}},
      {"Concat", {{"num_args", "2"}, {"dim", "1"}}, {{0, 3}, {2, 0}}, {{0, 7}}, {{2, 3}, {2, 4}}, {{2, 7}}},
      {"stack", {{"num_args", "2"}, {"axis", "0"}}, {{0, 3}, {4, 0}}, {{}}, {{4, 3}, {4, 3}}, {{2, 4, 3}}},
      {"stack", {{"num_args", "2"}}, {{}, {}}, {{0, 4, 3}}, {{4, 3}, {4, 3}}, {{2, 4, 3}}},
      {"slice_axis", {{"axis", "1"}, {"begin", "1"}, {"end", "3"}}, {{0, 0}}, {{2, 0}}, {{2, 0}}, {{2, 2}}},
      {"slice_axis",
       {{"axis", "0"}, {"begin", "1"}, {"end", "None"}},
       {{0, 3}},
       {{4, 0}},
       {{5, 3}},
       {{4, 3}}},
      {"slice", {{"begin", "(None, 1)"}, {"end", "(None, 4)"}}, {{0, 5}}, {{2, 0}}, {{2, 5}}, {{2, 3}}},
      {"Pad",
       {{"mode", "edge"}, {"pad_width", "(0, 0, 0, 0, 1, 2, 0, 0)"}},
       {{0, 1, 0, 2}},
       {{2, 0, 7, 0}},
       {{2, 1, 4, 2}},
       {{2, 1, 7, 2}}},
      {"tile", {{"reps", "(2, 1)"}}, {{0, 3}}, {{4, 0}}, {{2, 3}}, {{4, 3}}},
      {"repeat", {{"repeats", "2"}, {"axis", "0"}}, {{0, 3}}, {{4, 0}}, {{2, 3}}, {{4, 3}}},
      {"mean", {{"axis", "1"}}, {{0, 5, 3}}, {{2, 0}}, {{2, 5, 3}}, {{2, 3}}},
      {"mean", {{"axis", "1"}, {"keepdims", "True"}}, {{0, 5, 0}}, {{2, 0, 3}}, {{2, 5, 3}}, {{2, 1, 3}}},
  });
}

TEST_CASE("a reshape follows its codes in both directions", "[inference]") {
  const auto to = [](const char* shape) { return json{{"shape", shape}}; };
  check({
      {"Reshape", to("(0, -1)"), {{0, 4, 3}}, {{2, 0}}, {{2, 4, 3}}, {{2, 12}}},
      {"Reshape", to("(-1,)"), {{40, 0}}, {{200}}, {{40, 5}}, {{200}}},
      {"Reshape", to("(-3, 0)"), {{2, 0, 3}}, {{8, 0}}, {{2, 4, 3}}, {{8, 3}}},
      {"Reshape", to("(-4, 2, -1, 0)"), {{0, 3}}, {{0, 4, 0}}, {{8, 3}}, {{2, 4, 3}}},
      {"Reshape", to("(0, -2)"), {{0, 4, 3}}, {{2, 0, 0}}, {{2, 4, 3}}, {{2, 4, 3}}},
      {"Reshape", to("(-1, 8)"), {{}}, {{0, 0}}, {{}}, {{0, 8}}},
      {"Reshape", {{"shape", "(-1, 0)"}, {"reverse", "True"}}, {{0, 4, 3}}, {{8, 0}}, {{2, 4, 3}}, {{8, 3}}},
      {"Reshape",
       {{"target_shape", "(0, 12)"}, {"keep_highest", "True"}, {"reverse", "True"}},
       {{0, 3, 4}},
       {{2, 0}},
       {{2, 3, 4}},
       {{2, 12}}},
      {"Flatten", json::object(), {{0, 4, 0}}, {{2, 12}}, {{2, 4, 3}}, {{2, 12}}},
  });
}

TEST_CASE("layers tell their parameters, and the batch of their data", "[inference]") {
  const json dense{{"num_hidden", "4"}};
  check({
      {"FullyConnected", dense, {{0, 3}, {}, {}}, {{2, 0}}, {{2, 3}, {4, 3}, {4}}, {{2, 4}}},
      {"FullyConnected", dense, {{0, 0}, {4, 3}, {}}, {{2, 0}}, {{2, 3}, {4, 3}, {4}}, {{2, 4}}},
      {"FullyConnected",
       {{"num_hidden", "4"}, {"flatten", "False"}, {"no_bias", "True"}},
       {{0, 5, 0}, {0, 3}},
       {{2, 0, 0}},
       {{2, 5, 3}, {4, 3}},
       {{2, 5, 4}}},
      {"Embedding",
       {{"input_dim", "10"}, {"output_dim", "3"}},
       {{}, {}},
       {{2, 5, 0}},
       {{2, 5}, {10, 3}},
       {{2, 5, 3}}},
      {"Convolution",
       {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "6"}, {"num_group", "2"}},
       {{0, 4, 8, 0}, {}, {}},
       {{2, 0, 0, 9}},
       {{2, 4, 8, 9}, {6, 2, 3, 3}, {6}},
       {{2, 6, 8, 9}}},
      {"Convolution",
       {{"kernel", "(3,)"}, {"stride", "(2,)"}, {"num_filter", "6"}, {"no_bias", "True"}},
       {{0, 0, 9}, {0, 4, 0}},
       {Shape()},
       {{0, 4, 9}, {6, 4, 3}},
       {{0, 6, 4}}},
      {"Deconvolution",
       {{"kernel", "(3,)"}, {"stride", "(2,)"}, {"num_filter", "6"}},
       {{0, 4, 0}, {}},
       {{2, 0, 9}},
       {{2, 4, 4}, {4, 6, 3}},
       {{2, 6, 9}}},
      {"Pooling",
       {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}},
       {{0, 4, 8, 6}},
       {{2, 0, 0, 0}},
       {{2, 4, 8, 6}},
       {{2, 4, 4, 3}}},
      {"BatchNorm",
       json::object(),
       {{0, 3, 5}, {}, {}, {}, {}},
       {{2, 0, 0}},
       {{2, 3, 5}, {3}, {3}, {3}, {3}},
       {{2, 3, 5}}},
      {"LayerNorm", json::object(), {{0, 0}, {3}, {}}, {{2, 0}}, {{2, 3}, {3}, {3}}, {{2, 3}}},
      {"batch_dot", json::object(), {{0, 2, 0}, {5, 3, 4}}, {{0, 0, 0}}, {{5, 2, 3}, {5, 3, 4}}, {{5, 2, 4}}},
      {"dot", {{"transpose_b", "True"}}, {{0, 0}, {4, 3}}, {{2, 0}}, {{2, 3}, {4, 3}}, {{2, 4}}},
      {"take", json::object(), {{10, 3}, {0, 5}}, {{2, 0, 0}}, {{10, 3}, {2, 5}}, {{2, 5, 3}}},
  });
}

TEST_CASE("a fused recurrent layer tells states and parameters", "[inference]") {
  const json lstm{{"mode", "lstm"},
                  {"state_size", "4"},
                  {"num_layers", "2"},
                  {"bidirectional", "True"},
                  {"state_outputs", "True"}};
  // 2 * (16 * (3 + 4 + 2)) + 2 * (16 * (8 + 4 + 2))
  const Shape all{736};
  check({
      {"RNN",
       lstm,
       {{5, 2, 3}, {}, {}, {}},
       {{}, {}, {}},
       {{5, 2, 3}, all, {4, 2, 4}, {4, 2, 4}},
       {{5, 2, 8}, {4, 2, 4}, {4, 2, 4}}},
      {"RNN",
       lstm,
       {{5, 0, 0}, all, {}, {}},
       {{}, {0, 2, 0}, {}},
       {{5, 2, 3}, all, {4, 2, 4}, {4, 2, 4}},
       {{5, 2, 8}, {4, 2, 4}, {4, 2, 4}}},
  });
}

TEST_CASE("a contradiction names node, input and shapes", "[inference]") {
  using Catch::Contains;
  const auto told = [](const std::string& op, const json& attrs, const Shapes& in, const Shapes& out) {
    return error_of([&] { infer(op, attrs, in, out); });
  };
  CHECK_THAT(told("FullyConnected", {{"num_hidden", "4"}}, {{0, 3}, {5, 0}, {}}, {{}}),
             Contains("'node'") && Contains("FullyConnected") && Contains("'weight'") && Contains("(5, ?)") &&
                 Contains("(4, ?)"));
  CHECK_THAT(told("elemwise_add", json::object(), {{0, 3}, {2, 4}}, {{}}),
             Contains("'node'") && Contains("(?, 3)") && Contains("(2, 4)"));
  CHECK_THAT(told("Concat", {{"num_args", "2"}, {"dim", "1"}}, {{0, 3}, {0, 5}}, {{2, 7}}),
             Contains("(2, 7)") || Contains("(?, 7)"));
  // Two users that need different batches.
  CHECK_THAT(told("SliceChannel", {{"num_outputs", "2"}}, {{0, 4}}, {{2, 0}, {3, 0}}),
             Contains("'") && Contains("3"));
  // Where nothing is known, and where only a part is, the search ends.
  Symbol chain = sym::var("x");
  const Symbol first = chain;
  for (int i = 0; i < 2000; ++i) chain = chain + first;
  CHECK(!chain.infer_shape({}).complete);
  CHECK(chain.infer_shape({{"x", {0, 3}}}).outputs == Shapes{{0, 3}});
  CHECK(chain.infer_shape({{"x", {2, 3}}}).complete);
}
