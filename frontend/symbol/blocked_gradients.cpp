// Inserts BlockGrad into a graph that becomes a file.
#include "frontend/symbol/blocked_gradients.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace kiln {
namespace {

/// Whether a gradient passes through the node in a recorded call, which a file stands for.
bool passes(const ir::Node& node) { return node.recorded || node.recorded_as_call; }

bool all_pass(const std::vector<ir::NodePtr>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [](const ir::NodePtr& node) {
    return passes(*node) && std::all_of(node->subgraphs.begin(), node->subgraphs.end(),
                                        [](const auto& body) { return all_pass(body->nodes); });
  });
}

/// A copy of one graph, or of one body; its variables stay.
class Blocking {
 public:
  void add(const ir::NodePtr& node) {
    if (node->is_variable()) {
      nodes.push_back(node);
      return;
    }
    auto copy = std::make_shared<ir::Node>(*node);
    for (ir::Entry& e : copy->inputs) e = passes(*node) ? blocked(e) : mapped(e);
    for (ir::NodePtr& dep : copy->control_deps)
      if (const auto found = copies_.find(dep.get()); found != copies_.end()) dep = found->second;
    for (ir::SubgraphPtr& body : copy->subgraphs) body = blocked(*body);
    copy->recorded = true;
    copies_.emplace(node.get(), copy);
    nodes.push_back(std::move(copy));
  }

  /// As a recorded node reads it.
  ir::Entry blocked(const ir::Entry& e) {
    const ir::Node& node = *e.node;
    if (node.is_variable() || passes(node) || (node.op && node.op->stops_gradient)) return mapped(e);
    ir::NodePtr& block = blocks_[{&node, e.output}];
    if (!block) {
      block = std::make_shared<ir::Node>();
      block->op = ir::find_op("BlockGrad");
      block->op_name = "BlockGrad";
      block->name = ir::output_name(e) + "_blockgrad";
      block->attrs = block->op->complete({});
      block->inputs = {mapped(e)};
      block->np_shape = node.np_shape;
      block->location = node.location;
      if (const auto body = node.attr_text.find("__subgraph_name__"); body != node.attr_text.end())
        block->attr_text.insert(*body);
      if (e.output < node.types.size()) block->types = {node.types[e.output]};
      nodes.push_back(block);
    }
    return {block, 0, 0};
  }

  std::vector<ir::NodePtr> nodes;

 private:
  ir::Entry mapped(const ir::Entry& e) const {
    const auto found = copies_.find(e.node.get());
    return found == copies_.end() ? e : ir::Entry{found->second, e.output, e.version};
  }
  static ir::SubgraphPtr blocked(const ir::Subgraph& body) {
    Blocking of_body;
    for (const ir::NodePtr& node : body.nodes) of_body.add(node);
    auto out = std::make_shared<ir::Subgraph>(ir::Subgraph{body.inputs, {}, {}});
    for (const ir::Entry& e : body.outputs) out->outputs.push_back(of_body.blocked(e));
    out->nodes = std::move(of_body.nodes);
    return out;
  }

  std::unordered_map<const ir::Node*, ir::NodePtr> copies_;
  std::map<std::pair<const ir::Node*, std::uint32_t>, ir::NodePtr> blocks_;
};

}  // namespace

std::vector<ir::Entry> with_blocked_gradients(const std::vector<ir::Entry>& heads) {
  const std::vector<ir::NodePtr> order = ir::topological_order(heads);
  if (all_pass(order)) return heads;
  Blocking graph;
  for (const ir::NodePtr& node : order) graph.add(node);
  std::vector<ir::Entry> out;
  for (const ir::Entry& e : heads) out.push_back(graph.blocked(e));
  return out;
}

}  // namespace kiln
