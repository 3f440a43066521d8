// Calls of one operator by name.
#pragma once
#include "graphs/graph.h"

#include <kiln/kiln.h>

#include <string>
#include <vector>

/// Calls of one operator by name, as a block of all its shown outputs.
namespace graphs {

struct OperatorInput {
  kiln::Shape shape;
  kiln::DType dtype;
};

inline kiln::SymbolBlock operator_block(const std::string& op, const Attributes& attrs,
                                        const std::vector<OperatorInput>& inputs,
                                        const std::string& subgraphs = {}) {
  Graph graph;
  std::vector<Ref> variables;
  std::vector<kiln::Symbol> symbols;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    variables.push_back(graph.add_variable(name, kiln::zeros(inputs[i].shape, inputs[i].dtype)));
    symbols.push_back(kiln::sym::var(name));
  }
  const Ref node = graph.add(op, "called", variables, attrs);
  graph.nodes[node.node].subgraphs = subgraphs;
  for (std::uint32_t k = 0; k < outputs_of(graph.nodes[node.node]); ++k)
    graph.outputs.push_back({node.node, k});
  return kiln::SymbolBlock(kiln::Symbol::load_json(to_json(graph)), symbols);
}

}  // namespace graphs
