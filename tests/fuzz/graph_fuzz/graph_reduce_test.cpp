// The fuzzer's reducer, on differences that are planted: an operator counts as wrong where another one in its
// place gives other bits.
#include "generate.h"
#include "graphs/compare.h"
#include "reduce.h"

#include <catch2/catch.hpp>

using namespace kiln;
using namespace graphs;

namespace {

/// Whether the graph gives other bits when `changed` may replace operators.
template <class Change>
bool differs_when(const Graph& graph, Change change) {
  Graph other = graph;
  for (std::size_t i = 0; i < other.nodes.size(); ++i) change(other, other.nodes[i]);
  const Result a = Runner(graph, RunMode::eager).run(1), b = Runner(other, RunMode::eager).run(1);
  return first_difference(a, b).has_value();
}

bool wrong_softsign(const Graph& graph) {
  return differs_when(graph, [](Graph&, Node& node) {
    if (node.op == "softsign") node.op = "tanh";
  });
}

bool wrong_exp_of_negative(const Graph& graph) {
  return differs_when(graph, [](Graph& g, Node& node) {
    if (node.op == "exp" && g.nodes[node.inputs[0].node].op == "negative") node.op = "expm1";
  });
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes)
    if (!node.is_variable()) names.push_back(node.op);
  return names;
}

Tensor make_data();

Graph with(Graph graph, const std::vector<std::string>& chain) {
  // On an array of numbers whose differences show, with other outputs beside it.
  Ref x = graph.add_variable("data", make_data());
  x = graph.add("Reshape", "first", {x}, {{"shape", "(3, 2, 5)"}});
  x = graph.add("_mul_scalar", "second", {x}, {{"scalar", "0.5"}});
  for (const std::string& op : chain) x = graph.add(op, "planted_" + op, {x});
  x = graph.add("sum", "third", {x}, {{"axis", "1"}});
  graph.outputs.push_back(graph.add("square", "fourth", {x}));
  return graph;
}

Tensor make_data() {
  std::vector<float> values;
  for (int i = 0; i < 30; ++i) values.push_back(0.25f * static_cast<float>(i) - 3);
  return Tensor(values, {3, 10});
}

}  // namespace

TEST_CASE("a difference in one operator is reduced to that operator and one number", "[fuzz][reduce]") {
  for (const std::uint64_t seed : {3, 4, 5}) {
    const Graph large = with(generate(seed), {"softsign"});
    REQUIRE(wrong_softsign(large));
    const Graph small = reduce(large, wrong_softsign);
    CAPTURE(to_json(small));
    CHECK(operators(small) == std::vector<std::string>{"softsign"});
    CHECK(small.outputs.size() == 1);
    REQUIRE(small.nodes.size() == 2);
    CHECK(small.nodes[0].value.size() == 1);
  }
}

TEST_CASE("a difference between two operators keeps both", "[fuzz][reduce]") {
  const Graph large = with(generate(7), {"negative", "exp"});
  REQUIRE(wrong_exp_of_negative(large));
  const Graph small = reduce(large, wrong_exp_of_negative);
  CAPTURE(to_json(small));
  CHECK(operators(small) == std::vector<std::string>{"negative", "exp"});
  CHECK(small.nodes[0].value.size() == 1);
  CHECK(small.nodes[0].value.item<float>() == 1);
}

TEST_CASE("a reduced graph prints as JSON and as a program", "[fuzz][reduce]") {
  Graph graph;
  const Ref x = graph.add_variable("x", Tensor({1, -0.0, 1.0 / 3}));
  graph.outputs = {graph.add("clip", "c", {x}, {{"a_min", "0"}, {"a_max", "inf"}})};
  CHECK(to_json(graph) ==
        R"json({"nodes": [
  {"op":"null","name":"x","inputs":[]},
  {"op":"clip","name":"c","attrs":{"a_max":"inf","a_min":"0"},"inputs":[[0,0,0]]}
],
"arg_nodes": [0],
"heads": [[1,0,0]]}
)json");
  CHECK(to_program(graph).find(R"({"x", array<double>({1, -0x0p+0, 0x1.555556p-2}, {3}, DType::f32)})") !=
        std::string::npos);
}
