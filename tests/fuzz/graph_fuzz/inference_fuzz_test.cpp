// Shapes erased from graphs that run: inference finds the true shape again or says that it does not know.
#include "generate.h"
#include "graphs/samples.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <random>

using namespace kiln;
using namespace graphs;

namespace {

struct Named {
  std::vector<std::string> names;
  InferredShapes shapes;
  /// Of the arguments, the auxiliary states, the outputs.
  std::vector<Shape> all() const {
    std::vector<Shape> list = shapes.arguments;
    list.insert(list.end(), shapes.auxiliary_states.begin(), shapes.auxiliary_states.end());
    list.insert(list.end(), shapes.outputs.begin(), shapes.outputs.end());
    return list;
  }
};

/// Whether `found` does not contradict the truth; 0 is an unknown extent, () a wholly unknown shape.
bool is_true(const Shape& found, const Shape& truth) {
  if (found.empty()) return true;
  if (found.rank() != truth.rank()) return false;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != 0 && found[i] != truth[i]) return false;
  return true;
}

struct Count {
  int graphs = 0, found = 0, unknown = 0;
};

/// Erases whole shapes or some extents of about half of the variables, `rounds` times, and compares.
void erase_and_infer(const Graph& graph, std::mt19937& random, int rounds, Count& count) {
  Symbol symbol;
  std::map<std::string, Shape> truth;
  InferredShapes complete;
  try {
    symbol = Symbol::load_json(to_json(graph));
    for (const Node& node : graph.nodes)
      if (node.is_variable()) truth[node.name] = node.value.shape();
    complete = symbol.infer_shape(truth);
  } catch (const Error&) {
    return;  // the sample is of another dtype, or one that is refused
  }
  // An extent 0 cannot be told from one that is not known.
  const std::vector<Shape> expected = Named{{}, complete}.all();
  for (const Shape& s : expected)
    if (std::find(s.begin(), s.end(), 0) != s.end()) return;
  if (!complete.complete) return;
  ++count.graphs;
  for (int round = 0; round < rounds; ++round) {
    std::map<std::string, Shape> known = truth;
    for (auto& [name, shape] : known) {
      const auto how = random() % 4;
      if (how == 0) shape = Shape();
      if (how == 1)
        for (std::int64_t& d : shape)
          if (random() % 2) d = 0;
    }
    std::string given;
    for (const auto& [name, shape] : known)
      given += fmt::format("{} {} of {}\n", name, shape.str(), truth[name].str());
    INFO(to_json(graph) << given);
    InferredShapes found;
    REQUIRE_NOTHROW(found = symbol.infer_shape(known));
    const std::vector<Shape> shapes = Named{{}, found}.all();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      INFO("shape " << i << " is " << shapes[i].str() << ", not " << expected[i].str());
      REQUIRE(is_true(shapes[i], expected[i]));
      ++(shapes[i] == expected[i] ? count.found : count.unknown);
    }
  }
}

/// Whether MXNet chooses a shape where nothing tells it, and another one would do too.
bool has_choice(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto type = node.attrs.find("act_type");
    return node.op.ends_with("Output") || (type != node.attrs.end() && type->second == "prelu");
  });
}

}  // namespace

TEST_CASE("what is inferred of an operator is true", "[inference]") {
  std::mt19937 random(7);
  Count count;
  for (const Row& row : sample_rows())
    for (const std::string& op : row.operators)
      for (const Sample& sample : row.samples) {
        if (sample.large) continue;
        Graph graph;
        std::vector<Ref> inputs;
        for (const Input& input : sample.inputs)
          inputs.push_back(graph.add_variable(
              fmt::format("in{}", inputs.size()),
              zeros(input.shape, input.dtype.value_or(row.dtypes.empty() ? DType::f32 : row.dtypes[0]))));
        const Ref node = graph.add(op, "node", inputs, sample.attrs);
        graph.nodes.back().subgraphs = sample.subgraphs;
        try {
          for (std::uint32_t i = 0; i < outputs_of(graph.nodes.back()); ++i)
            graph.outputs.push_back({node.node, i});
        } catch (const Error&) {
          continue;
        }
        if (!has_choice(graph)) erase_and_infer(graph, random, 6, count);
      }
  CHECK(count.graphs > 500);
  CHECK(count.found > count.unknown);
}

TEST_CASE("what is inferred of a random graph is true", "[inference]") {
  std::mt19937 random(11);
  Count count;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Graph graph = generate(seed);
    if (!has_choice(graph)) erase_and_infer(graph, random, 3, count);
  }
  CHECK(count.graphs > 50);
}
