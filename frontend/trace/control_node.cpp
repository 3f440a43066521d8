// Adds inputs and bodies to nodes.
#include "frontend/trace/control_node.h"

#include "frontend/call/invoke.h"
#include "frontend/trace/record.h"
#include "frontend/trace/traced_view.h"

#include <fmt/ranges.h>

namespace kiln {

using detail::TensorAccess;

namespace {

/// How many subgraphs of each kind have a name.
std::unordered_map<std::string, int>& subgraph_counts() {
  thread_local std::unordered_map<std::string, int> counts;
  return counts;
}

}  // namespace

Tensor resolved(const Tensor& t) { return Trace::current() ? Trace::current()->resolve(t) : t; }

Tensor recorded_copy(const Tensor& t, std::source_location where) {
  const Tensor* inputs[] = {&t};
  return record_node({.op = find_op_or_throw("_copy"),
                      .inputs = inputs,
                      .given = {},
                      .where = where,
                      .hint = "identity"})[0];
}

std::int64_t ControlNode::input(const Tensor& t) {
  const ir::NodePtr node = value_of(t, {}).node;
  if (!node->is_variable()) return own_input(t);
  const auto [found, added] = shared_.try_emplace(node.get(), static_cast<std::int64_t>(inputs_.size()));
  return added ? own_input(t) : found->second;
}

void ControlNode::set(std::string_view name, const Positions& positions) {
  given_.set(name, ir::OptionalInts(positions.begin(), positions.end()));
  positions_.emplace_back(name, positions);
}

std::vector<Tensor> ControlNode::record(std::string_view op, std::span<const ir::SubgraphPtr> bodies,
                                        std::source_location where) {
  set("num_args", static_cast<std::int64_t>(inputs_.size() + bodies.size()));
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs_) pointers.push_back(&t);
  std::vector<Tensor> out = invoke_all({.op = find_op_or_throw(op),
                                        .inputs = pointers,
                                        .given = given_.items(),
                                        .where = where,
                                        .bodies = bodies});
  // MXNet writes lists of positions in brackets.
  ir::Node& node = *TensorAccess::array(out.at(0))->value.node;
  for (const auto& [name, list] : positions_)
    node.attr_text[std::string(name)] = fmt::format("[{}]", fmt::join(list, ", "));
  return out;
}

std::string subgraph_name(const std::string& kind) {
  return kind + std::to_string(subgraph_counts()[kind]++);
}
SubgraphNameScope::SubgraphNameScope() : before_(subgraph_counts()) {}
SubgraphNameScope::~SubgraphNameScope() { subgraph_counts() = std::move(before_); }

}  // namespace kiln
