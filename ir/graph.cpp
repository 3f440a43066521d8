// Nodes, bodies, and topological orders.
#include "ir/graph.h"

#include "runtime/fail.h"

#include <charconv>
#include <fmt/format.h>
#include <unordered_set>

namespace kiln::ir {

Node::~Node() {
  std::vector<NodePtr> doomed;
  const auto take = [&](Node& node) {
    for (Entry& e : node.inputs) doomed.push_back(std::move(e.node));
    for (NodePtr& dep : node.control_deps) doomed.push_back(std::move(dep));
    node.inputs.clear();
    node.control_deps.clear();
  };
  take(*this);
  while (!doomed.empty()) {
    const NodePtr node = std::move(doomed.back());
    doomed.pop_back();
    if (node && node.use_count() == 1) take(*node);
  }
}

std::vector<NodePtr> topological_order(const std::vector<Entry>& heads) {
  std::vector<NodePtr> order;
  std::unordered_set<const Node*> seen;
  struct Frame {
    const NodePtr* node;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto visit = [&](const NodePtr& node) {
    if (seen.insert(node.get()).second) stack.push_back({&node});
  };
  for (const Entry& head : heads) {
    visit(head.node);
    while (!stack.empty()) {
      Frame& top = stack.back();
      const Node& node = **top.node;
      const std::size_t i = top.next++;
      if (i < node.inputs.size()) {
        visit(node.inputs[i].node);
      } else if (i - node.inputs.size() < node.control_deps.size()) {
        visit(node.control_deps[i - node.inputs.size()]);
      } else {
        order.push_back(*top.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::uint32_t counted_outputs(const Node& node) {
  if (node.op) return static_cast<std::uint32_t>(node.op->outputs_counted(node.attrs));
  return node.is_variable() ? 1 : std::max(node.counted_in_file, 1u);
}

std::uint32_t visible_outputs(const Node& node) {
  return node.op ? static_cast<std::uint32_t>(node.op->outputs_visible(node.attrs)) : counted_outputs(node);
}

std::string output_name(const Entry& entry) {
  const Node& node = *entry.node;
  if (node.is_variable()) return node.name;
  if (node.op && entry.output < node.op->output_names.size())
    return node.name + "_" + std::string(node.op->output_names[entry.output]);
  if (visible_outputs(node) <= 1 && entry.output == 0) return node.name + "_output";
  return node.name + "_output" + std::to_string(entry.output);
}

GraphCopy::GraphCopy(const std::vector<NodePtr>& order) {
  for (const NodePtr& node : order) {
    auto copy = std::make_shared<Node>(*node);
    copy->types.clear();
    for (Entry& e : copy->inputs) e = of(e);
    for (NodePtr& dep : copy->control_deps) dep = of(dep.get());
    for (SubgraphPtr& body : copy->subgraphs) body = std::make_shared<Subgraph>(copy_of(*body));
    copies_.emplace(node.get(), copy);
    nodes_.push_back(std::move(copy));
  }
}

Subgraph copy_of(const Subgraph& body) {
  const GraphCopy copy(body.nodes);
  Subgraph out{.inputs = {}, .nodes = copy.nodes(), .outputs = {}};
  for (const NodePtr& variable : body.inputs) out.inputs.push_back(copy.of(variable.get()));
  for (const Entry& e : body.outputs) out.outputs.push_back(copy.of(e));
  return out;
}

std::optional<DType> declared_dtype(const Node& variable) {
  const auto found = variable.attr_text.find("__dtype__");
  if (found == variable.attr_text.end()) return {};
  const std::string& text = found->second;
  std::int64_t flag = -1;
  std::from_chars(text.data(), text.data() + text.size(), flag);
  return dtype_from_flag(flag);
}

PartialShape declared_shape(const Node& variable) {
  const auto found = variable.attr_text.find("__shape__");
  if (found == variable.attr_text.end() || found->second == "None") return {};
  Shape shape;
  try {
    shape = std::get<Shape>(
        parse_attr({.name = "__shape__", .kind = AttrKind::tuple, .fallback = {}}, found->second));
  } catch (const Error& e) {
    fail("the variable '{}' declares __shape__ = \"{}\": {}", variable.name, found->second, e.what());
  }
  // Outside of numpy mode rank 0 does not exist, and extent 0 is unknown.
  if (variable.np_shape) return shape;
  if (shape.empty()) return {};
  for (std::int64_t& d : shape)
    if (d == 0) d = PartialShape::unknown;
  return shape;
}

std::string to_string(const Graph& graph) {
  const auto reference = [](const Entry& e) {
    const bool several = e.node->op && e.node->op->outputs_counted(e.node->attrs) > 1;
    return "%" + e.node->name + (several ? fmt::format("#{}", e.output) : "");
  };
  const auto types = [](const Node& node) {
    std::string s;
    for (const TensorType& t : node.types) s += (s.empty() ? "" : ", ") + t.str();
    return s.empty() ? std::string("?") : s;
  };
  std::string s = "graph " + graph.name + (graph.train ? " (train)" : "") + "\n";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const bool parameter = i < graph.is_parameter.size() && graph.is_parameter[i];
    s += fmt::format("  {} %{} : {}\n", parameter ? "parameter" : "input", graph.inputs[i]->name,
                     types(*graph.inputs[i]));
  }
  for (const NodePtr& node : graph.nodes) {
    if (node->is_variable()) continue;
    std::string inputs;
    for (const Entry& e : node->inputs) inputs += (inputs.empty() ? "" : ", ") + reference(e);
    std::string attrs;
    for (const auto& [key, value] : node->attr_text)
      attrs += fmt::format("{}{}={}", attrs.empty() ? " {" : ", ", key, value);
    if (!attrs.empty()) attrs += "}";
    std::string scope = node->recorded ? "" : " not recorded";
    if (node->train) scope += *node->train ? " train" : " predict";
    if (node->precision) scope += fmt::format(" {}", name_of(*node->precision));
    const std::string where = node->location.str();
    s += fmt::format("  %{} = {}({}){} : {}{}{}{}\n", node->name, node->op_name, inputs, attrs, types(*node),
                     scope, where.empty() ? "" : "  // ", where);
  }
  std::string outputs;
  for (const Entry& e : graph.outputs) outputs += (outputs.empty() ? "" : ", ") + reference(e);
  s += "  return " + outputs + "\n";
  for (const Graph::Write& w : graph.writes)
    s += fmt::format("  write %{} <- {}\n", graph.inputs.at(w.input)->name, reference(w.value));
  return s;
}

}  // namespace kiln::ir
