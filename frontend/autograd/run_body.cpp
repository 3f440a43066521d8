// Runs subgraphs node by node.
#include "frontend/autograd/run_body.h"

#include "frontend/autograd/function_call.h"
#include "frontend/call/call_context.h"
#include "frontend/call/invoke.h"
#include "frontend/call/trace.h"

#include <unordered_map>

namespace kiln::detail {

std::vector<Tensor> run_body(const ir::Subgraph& body, const std::vector<Tensor>& inputs,
                             const RunNode& run) {
  std::unordered_map<const ir::Node*, std::vector<Tensor>> values;
  const auto chosen = [&](const std::vector<ir::Entry>& entries) {
    std::vector<Tensor> list;
    for (const ir::Entry& e : entries) list.push_back(values.at(e.node.get()).at(e.output));
    return list;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) values[body.inputs[i].get()] = {inputs[i]};
  for (const ir::NodePtr& node : body.nodes)
    if (!node->is_variable()) values[node.get()] = run(*node, chosen(node->inputs));
  return chosen(body.outputs);
}

std::vector<Tensor> run_node(const ir::Node& node, const std::vector<Tensor>& inputs,
                             std::source_location where) {
  const NodeModes modes(node);
  // Recorded, it is a node as any other.
  if (node.op->name == "_function" && !Trace::current())
    return run_function(function_call(node, {}, where), inputs, where);
  return invoke(*node.op, inputs, node.attrs, where, {}, node.subgraphs, node.np_shape);
}

}  // namespace kiln::detail
