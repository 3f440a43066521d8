// Conversion between the contents of a -symbol.json and the operator graph.
#include "frontend/symbol/symbol_graph.h"

#include "frontend/symbol/json/symbol_legacy.h"
#include "runtime/log.h"
#include "runtime/messages.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln {
namespace {

std::string known_attributes(const ir::OpDef& op) {
  std::string names;
  for (const ir::AttrSpec& spec : op.attrs) names += (names.empty() ? "" : ", ") + std::string(spec.name);
  return names.empty() ? "it has none" : "it has " + names;
}

// Parses the attribute texts by the operator's definition.
void read_attributes(ir::Node& node) {
  ir::Attrs given;
  for (const auto& [key, text] : node.attr_text) {
    if (legacy::is_hidden_attribute(key)) continue;
    const ir::AttrSpec* spec = node.op->attr(key);
    // An operator without attributes accepts any, as in MXNet.
    if (!spec && node.op->attrs.empty()) continue;
    if (!spec)
      fail(Mistake::unknown_attribute, "the operator has no attribute \"{}\"; {}", key,
           known_attributes(*node.op));
    try {
      given.set(spec->name, ir::parse_attr(*spec, text));
    } catch (const Error& e) {
      fail(Mistake::attribute_value, "the attribute \"{}\" = \"{}\": {}", key, text, e.what());
    }
  }
  node.attrs = node.op->complete(given);
}

void check_inputs(const ir::Node& node) {
  const ir::OpDef& op = *node.op;
  if (node.subgraphs.size() != op.bodies)
    fail("it has {} subgraph{}, {} takes {}", node.subgraphs.size(), node.subgraphs.size() == 1 ? "" : "s",
         op.name, op.bodies);
  if (op.variadic && op.count_attr.empty()) return;
  const std::size_t wanted = op.input_count(node.attrs);
  if (node.inputs.size() == wanted) return;
  const std::vector<std::string_view> known = op.input_names(node.attrs);
  std::string names;
  for (std::size_t i = 0; i < std::min(wanted, known.size()); ++i)
    names += (names.empty() ? " (" : ", ") + std::string(known[i]);
  fail("it has {} input{}, but with its attributes {} takes {}{}{}", node.inputs.size(),
       node.inputs.size() == 1 ? "" : "s", op.name, wanted, names, names.empty() ? "" : ")");
}

// Upgrades a node to the current version of the format.
void upgrade(ir::Node& node, std::int64_t version) {
  if (version < legacy::current_version) {
    if (node.op) node.op_name = std::string(node.op->name);  // Softmax is SoftmaxOutput now
    legacy::rename_hidden_attributes(node);
  }
  legacy::rename_fused_attributes(node);
  if (version < legacy::reductions_have_no_axis) legacy::remove_axis_of_all(node);
  if (node.op) read_attributes(node);
  if (version < legacy::auxiliary_states_are_nodes) legacy::add_missing_variables(node);
  if (version < legacy::initializers_are_attributes) legacy::set_initializers(node);
  if (node.is_variable()) {
    // The attributes of a variable are parsed later, where the file and the line are not known.
    ir::declared_shape(node);
    ir::declared_dtype(node);
  }
}

// For an unknown operator: the number of outputs by the file's row pointers, if they are valid.
std::uint32_t counted_in_file(const FileGraph& graph, std::size_t node, std::uint32_t used) {
  const auto& rows = graph.node_row_ptr;
  if (rows.size() != graph.nodes.size() + 1 || rows[node + 1] < rows[node]) return used;
  return std::max(used, static_cast<std::uint32_t>(rows[node + 1] - rows[node]));
}

void check_output(const ir::Entry& entry, std::string_view user) {
  const std::uint32_t count = ir::counted_outputs(*entry.node);
  if (entry.output < count) return;
  fail("{} takes output {} of '{}', which has {} output{}", user, entry.output, entry.node->name, count,
       count == 1 ? "" : "s");
}

/// The file of the nodes, its version and mode.
struct Origin {
  const std::string& file;
  std::int64_t version;
  bool np_shape;
};

ir::SubgraphPtr build_subgraph(const FileGraph& file_graph, const Origin& origin);

/// The nodes of a file or of one of its subgraphs, in file order.
std::vector<ir::NodePtr> build_nodes(const FileGraph& file_graph, const Origin& origin) {
  std::vector<std::uint32_t> used(file_graph.nodes.size(), 0);
  const auto use = [&](const FileEntry& e) {
    used[e.node] = std::max(used[e.node], std::min(e.output, 0xFFFFFFFEu) + 1);
  };
  for (const FileNode& n : file_graph.nodes)
    for (const FileEntry& e : n.inputs) use(e);
  for (const FileEntry& e : file_graph.heads) use(e);

  std::vector<ir::NodePtr> nodes;
  nodes.reserve(file_graph.nodes.size());
  const auto entry = [&](const FileEntry& e) { return ir::Entry{nodes[e.node], e.output, e.version}; };
  for (const FileNode& from : file_graph.nodes) {
    const std::size_t number = nodes.size();
    auto node = std::make_shared<ir::Node>();
    node->op_name = from.op;
    node->name = from.name;
    node->attr_text.insert(from.attrs.begin(), from.attrs.end());
    node->location = SourceLocation(origin.file, from.line, 0);
    node->np_shape = origin.np_shape;
    for (const FileEntry& e : from.inputs) node->inputs.push_back(entry(e));
    for (const std::uint32_t dep : from.control_deps) node->control_deps.push_back(nodes[dep]);
    for (const FileGraph& g : from.subgraphs) node->subgraphs.push_back(build_subgraph(g, origin));
    if (!node->is_variable()) node->op = ir::find_op(from.op);
    if (!node->is_variable() && !node->op)
      node->counted_in_file = counted_in_file(file_graph, number, used[number]);
    try {
      upgrade(*node, origin.version);
      if (node->op) check_inputs(*node);
      for (std::size_t i = 0; i < node->inputs.size(); ++i)
        check_output(node->inputs[i], fmt::format("input {}", i));
    } catch (const Error& e) {
      fail("{}: {}", place_in_file(origin.file, *node, number), e.what());
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<ir::Entry> build_heads(const FileGraph& file_graph, const std::vector<ir::NodePtr>& nodes,
                                   const std::string& file) {
  std::vector<ir::Entry> heads;
  for (const FileEntry& head : file_graph.heads) {
    heads.push_back({nodes[head.node], head.output, head.version});
    try {
      check_output(heads.back(), "an item of \"heads\"");
    } catch (const Error& e) {
      fail("{}: {}", file, e.what());
    }
  }
  if (heads.empty()) fail("{}: the graph has no outputs (\"heads\" is empty)", file);
  return heads;
}

ir::SubgraphPtr build_subgraph(const FileGraph& file_graph, const Origin& origin) {
  auto subgraph = std::make_shared<ir::Subgraph>();
  subgraph->nodes = build_nodes(file_graph, origin);
  subgraph->outputs = build_heads(file_graph, subgraph->nodes, origin.file);
  for (const ir::NodePtr& node : subgraph->nodes)
    if (node->is_variable()) subgraph->inputs.push_back(node);
  return subgraph;
}

// In a file of numpy mode, an unknown extent of a variable declared outside of that mode becomes -1.
void mark_unknown_extents(FileNode& variable) {
  const auto found = variable.attrs.find("__shape__");
  if (variable.op != "null" || found == variable.attrs.end() || found->second == "None") return;
  Shape shape = std::get<Shape>(ir::parse_attr({"__shape__", ir::AttrKind::tuple, {}}, found->second));
  for (std::int64_t& d : shape)
    if (d == 0) d = -1;
  found->second = shape.str();
}

}  // namespace

std::string place_in_file(const std::string& file, const ir::Node& node, std::size_t number) {
  const std::string text = node.is_variable() ? compose("variable '{}'", node.name)
                                              : compose("node {} '{}' ({})", number, node.name, node.op_name);
  if (node.location.line == 0) return fmt::format("{}: {}", file, text);
  return fmt::format("{}, line {}: {}", file, node.location.line, text);
}

bool is_auxiliary_input(const ir::Node& node, std::size_t i) {
  return node.op &&
         std::find(node.op->aux.begin(), node.op->aux.end(), static_cast<int>(i)) != node.op->aux.end();
}

SymbolGraph build_symbol_graph(const FileGraph& file_graph, const std::string& file) {
  const auto version_attr = file_graph.attrs.find("mxnet_version");
  const std::int64_t version =
      version_attr == file_graph.attrs.end() ? legacy::unknown_version : version_attr->second;
  if (version > legacy::current_version) {
    warn_once(
        "newer symbol file",
        fmt::format("{}: written by a newer MXNet ({}) than 1.9.1, whose meaning Kiln knows", file, version));
  }
  const auto np_shape = file_graph.attrs.find("is_np_shape");
  const Origin origin{file, version, np_shape != file_graph.attrs.end() && np_shape->second != 0};
  const std::vector<ir::NodePtr> nodes = build_nodes(file_graph, origin);
  return {build_heads(file_graph, nodes, file)};
}

SymbolGraph parse_symbol_graph(std::string_view text, const std::string& file) {
  return build_symbol_graph(parse_symbol_file(text, file), file);
}

namespace {

/// The node order of a file, which differs from a recorded body's; variables that it does not use are last.
std::vector<ir::NodePtr> file_order(const ir::Subgraph& body) {
  std::vector<ir::NodePtr> order = ir::topological_order(body.outputs);
  for (const ir::NodePtr& variable : body.inputs)
    if (std::find(order.begin(), order.end(), variable) == order.end()) order.push_back(variable);
  return order;
}

/// Nodes, rows and heads; `order` holds each node after its inputs.
FileGraph to_file(const std::vector<ir::NodePtr>& order, const std::vector<ir::Entry>& heads,
                  bool numpy_mode) {
  std::unordered_map<const ir::Node*, std::uint32_t> number;
  for (const ir::NodePtr& node : order) number.emplace(node.get(), static_cast<std::uint32_t>(number.size()));
  const auto entry = [&](const ir::Entry& e) {
    return FileEntry{number.at(e.node.get()), e.output, e.version};
  };
  FileGraph out;
  out.node_row_ptr.push_back(0);
  for (const ir::NodePtr& node : order) {
    FileNode to;
    to.op = node->op_name;
    to.name = node->name;
    to.attrs.insert(node->attr_text.begin(), node->attr_text.end());
    if (numpy_mode && !node->np_shape) mark_unknown_extents(to);
    for (const ir::Entry& e : node->inputs) to.inputs.push_back(entry(e));
    for (const ir::NodePtr& dep : node->control_deps) to.control_deps.push_back(number.at(dep.get()));
    for (const ir::SubgraphPtr& g : node->subgraphs)
      to.subgraphs.push_back(to_file(file_order(*g), g->outputs, numpy_mode));
    if (node->is_variable()) out.arg_nodes.push_back(number.at(node.get()));
    out.node_row_ptr.push_back(out.node_row_ptr.back() + ir::counted_outputs(*node));
    out.nodes.push_back(std::move(to));
  }
  for (const ir::Entry& head : heads) out.heads.push_back(entry(head));
  return out;
}

}  // namespace

bool in_numpy_mode(const std::vector<ir::NodePtr>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const ir::NodePtr& node) {
    return node->np_shape ||
           std::any_of(node->subgraphs.begin(), node->subgraphs.end(),
                       [](const ir::SubgraphPtr& body) { return in_numpy_mode(body->nodes); });
  });
}

FileGraph to_file_graph(const SymbolGraph& graph) {
  const std::vector<ir::NodePtr> order = ir::topological_order(graph.heads);
  const bool numpy_mode = in_numpy_mode(order);
  FileGraph out = to_file(order, graph.heads, numpy_mode);
  if (numpy_mode) out.attrs["is_np_shape"] = 1;
  out.attrs["mxnet_version"] = legacy::current_version;
  return out;
}

std::vector<ir::Entry> without_amp_casts(const std::vector<ir::Entry>& heads) {
  const std::vector<ir::NodePtr> order = ir::topological_order(heads);
  const auto is_cast = [](const ir::Node& n) {
    return n.op_name == "amp_cast" || n.op_name == "amp_multicast";
  };
  if (std::none_of(order.begin(), order.end(), [&](const ir::NodePtr& n) { return is_cast(*n); }))
    return heads;
  // A cast is replaced by its input; all nodes that depend on one are copied.
  std::unordered_map<const ir::Node*, ir::NodePtr> made;
  const auto mapped = [&](ir::Entry e) {
    while (is_cast(*e.node) && e.output < e.node->inputs.size()) e = e.node->inputs[e.output];
    const auto found = made.find(e.node.get());
    return found == made.end() ? e : ir::Entry{found->second, e.output, e.version};
  };
  for (const ir::NodePtr& node : order) {
    std::vector<ir::Entry> inputs;
    for (const ir::Entry& e : node->inputs) inputs.push_back(mapped(e));
    const bool same = std::equal(inputs.begin(), inputs.end(), node->inputs.begin(),
                                 [](const ir::Entry& a, const ir::Entry& b) { return a.node == b.node; });
    if (same) continue;
    auto copy = std::make_shared<ir::Node>(*node);
    copy->inputs = std::move(inputs);
    made.emplace(node.get(), std::move(copy));
  }
  std::vector<ir::Entry> out;
  for (const ir::Entry& e : heads) out.push_back(mapped(e));
  return out;
}

namespace {

/// A node with an unknown operator, and how many have that one.
struct UnknownOperator {
  const ir::Node* first;
  std::size_t number;  ///< of the first in its graph
  std::size_t nodes;
};

struct UnknownOperators {
  std::vector<UnknownOperator> list;
  std::unordered_map<std::string_view, std::size_t> place;  ///< by name

  void find(const std::vector<ir::NodePtr>& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ir::Node& node = *nodes[i];
      for (const ir::SubgraphPtr& g : node.subgraphs) find(g->nodes);
      if (node.is_variable() || node.op) continue;
      if (place.emplace(node.op_name, list.size()).second) list.push_back({&node, i, 0});
      ++list[place.at(node.op_name)].nodes;
    }
  }
};

std::string named(const UnknownOperator& u) {
  const std::string_view nearest = ir::nearest_op(u.first->op_name);
  return compose("'{}'{}", u.first->op_name,
                 nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest).c_str());
}

}  // namespace

void require_known_operators(const std::vector<ir::NodePtr>& nodes, const std::string& file) {
  UnknownOperators unknown;
  unknown.find(nodes);
  if (unknown.list.empty()) return;
  const std::string in = file.empty() ? "the symbol" : file;
  const UnknownOperator& first = unknown.list[0];
  if (unknown.list.size() == 1 && first.nodes == 1)
    fail(Mistake::unknown_operator, "{}: Kiln has no operator {}; `kiln ops` lists those it has",
         place_in_file(in, *first.first, first.number), named(first).c_str());
  constexpr std::size_t shown = 100;  // more than any program has
  std::string list;
  for (std::size_t i = 0; i < std::min(unknown.list.size(), shown); ++i) {
    const UnknownOperator& u = unknown.list[i];
    list += fmt::format("\n  {} {}: {}, first in {}", u.nodes, u.nodes == 1 ? "node" : "nodes", named(u),
                        place_in_file(in, *u.first, u.number));
  }
  if (unknown.list.size() > shown) list += fmt::format("\n  and {} more", unknown.list.size() - shown);
  fail(Mistake::unknown_operator, "{}: Kiln lacks some of its operators; `kiln ops` lists those it has{}", in,
       list.c_str());
}

}  // namespace kiln
