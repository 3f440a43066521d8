// Runs a graph as a block, eagerly and hybridized, and compares.
#include "block_check.h"

#include "graphs/compare.h"

#include <kiln/random.h>

#include <fmt/format.h>
#include <random>

namespace graphs {

using namespace kiln;

namespace {

/// A graph as a block, with the values that it is called with.
struct Callable {
  std::optional<SymbolBlock> block;
  Tensors arguments;
  std::vector<std::string> outputs;

  explicit Callable(const Graph& graph) {
    const Symbol symbol = Symbol::load_json(to_json(graph));
    if (graph.train || !symbol.list_auxiliary_states().empty()) return;
    std::map<std::string, Tensor> values;
    for (const Node& node : graph.nodes)
      if (node.is_variable()) values[node.name] = node.value;
    std::vector<Symbol> inputs;
    for (const std::string& name : symbol.list_inputs()) {
      inputs.push_back(sym::var(name));
      arguments.push_back(values.at(name).copy());
    }
    outputs = symbol.list_outputs();
    if (!inputs.empty()) block.emplace(symbol, inputs);
  }
};

/// Changes parts of some tensors in place, through views.
void write(Tensors& tensors, std::mt19937_64& random) {
  const auto pick = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (Tensor& x : tensors) {
    const Shape shape = x.shape();
    if (shape.empty() || shape.elements() == 0 || x.dtype() == DType::boolean) continue;
    const std::int64_t begin = pick(shape[0]), end = begin + 1 + pick(shape[0] - begin);
    switch (pick(5)) {
      case 0:
        x[slice(begin, end)] = 2;
        break;
      case 1:
        x[slice(begin, end)] *= 3;
        break;
      case 2: {
        Tensor flat = x.reshape({-1});
        flat[slice(0, 1)] += 1;
        break;
      }
      case 3: {
        Tensor part = x[slice(begin, end)];
        part -= x[slice(begin, begin + 1)];
        break;
      }
      default:
        break;
    }
  }
}

class Writing : public HybridBlock {
 public:
  Writing(const SymbolBlock& graph, std::uint64_t seed) : graph_(graph), seed_(seed) {
    register_child(graph, "graph");
  }

 protected:
  Tensors hybrid_forward(F&, const Tensors& inputs) override {
    std::mt19937_64 random(seed_);
    Tensors changed = inputs;
    write(changed, random);
    Tensors results = graph_(changed);
    write(results, random);
    write(changed, random);
    return results;
  }

 private:
  SymbolBlock graph_;
  std::uint64_t seed_;
};

/// The results of a net called twice in a row, and its effects on the inputs.
Result call_twice(Block& net, const Callable& callable, std::uint64_t seed) {
  Tensors inputs;
  for (const Tensor& t : callable.arguments) inputs.push_back(t.copy());
  random::seed(seed);
  Result result;
  const auto keep = [&](const Tensor& t, const std::string& name) {
    result.arrays.push_back(t.copy());
    result.names.push_back(name);
  };
  for (const char* call : {"first", "second"}) {
    const Tensors outputs = net(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      keep(outputs[i], fmt::format("{} of the {} call", callable.outputs[i], call));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) keep(inputs[i], fmt::format("input {} afterwards", i));
  return result;
}

std::optional<std::string> difference(Block& net, const Callable& callable, std::uint64_t seed) {
  std::vector<Result> results;
  for (const bool hybrid : {false, true}) {
    net.hybridize(hybrid);
    results.push_back(call_twice(net, callable, seed));
  }
  return first_difference(results[0], results[1]);
}

}  // namespace

std::optional<std::string> block_difference(const Graph& graph) {
  Callable callable(graph);
  if (!callable.block) return {};
  if (auto text = difference(*callable.block, callable, graph.seed)) return "as a SymbolBlock: " + *text;
  return {};
}

std::optional<std::string> writing_difference(const Graph& graph) {
  const Callable callable(graph);
  if (!callable.block) return {};
  Writing net(*callable.block, graph.seed);
  if (auto text = difference(net, callable, graph.seed)) return "in a block that writes: " + *text;
  return {};
}

}  // namespace graphs
