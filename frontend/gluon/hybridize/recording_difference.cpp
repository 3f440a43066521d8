// Compares two recordings node by node.
#include "frontend/gluon/hybridize/recording_difference.h"

#include "frontend/tensor/bits.h"

#include <kiln/attr.h>

#include <algorithm>
#include <fmt/format.h>
#include <type_traits>
#include <unordered_map>

namespace kiln::detail {
namespace {

using Found = std::optional<RecordingDifference>;

bool same_attr(const ir::AttrValue& a, const ir::AttrValue& b) {
  if (a.index() != b.index()) return false;
  const double* const x = std::get_if<double>(&a);
  return x ? same_value(*x, std::get<double>(b)) : a == b;
}

std::string title(const ir::Node& n) {
  return n.is_variable() ? fmt::format("the array '{}'", n.name)
                         : fmt::format("node '{}' ({})", n.name, n.op_name);
}

Found at(const ir::Node& node, std::string what, std::string was, std::string now) {
  return RecordingDifference{title(node), node.location.str(), std::move(what), std::move(was),
                             std::move(now)};
}

/// The nodes of one graph or body, by position.
class Places {
 public:
  Places(const std::vector<ir::NodePtr>& inputs, const std::vector<ir::NodePtr>& nodes) {
    for (const ir::NodePtr& n : inputs) number_.emplace(n.get(), number_.size());
    for (const ir::NodePtr& n : nodes) number_.emplace(n.get(), number_.size());
  }
  std::size_t operator[](const ir::NodePtr& n) const {
    const auto found = number_.find(n.get());
    return found == number_.end() ? number_.size() : found->second;
  }

 private:
  std::unordered_map<const ir::Node*, std::size_t> number_;
};

std::string name_of(const ir::Entry& e) {
  return e.output == 0 ? e.node->name : fmt::format("{}[{}]", e.node->name, e.output);
}

/// Compares two graphs, or two bodies of loops and branches.
class Comparison {
 public:
  Comparison(const std::vector<ir::NodePtr>& inputs_a, const std::vector<ir::NodePtr>& nodes_a,
             const std::vector<ir::NodePtr>& inputs_b, const std::vector<ir::NodePtr>& nodes_b)
      : a_(inputs_a, nodes_a), b_(inputs_b, nodes_b) {}

  Found nodes(const std::vector<ir::NodePtr>& was, const std::vector<ir::NodePtr>& now) const {
    const std::size_t both = std::min(was.size(), now.size());
    for (std::size_t i = 0; i < both; ++i)
      if (Found d = node(*was[i], *now[i])) return d;
    if (now.size() > both) return at(*now[both], "the operator", "nothing", now[both]->op_name);
    if (was.size() > both) return at(*was[both], "the operator", was[both]->op_name, "nothing");
    return {};
  }
  bool same(const ir::Entry& a, const ir::Entry& b) const {
    return a_[a.node] == b_[b.node] && a.output == b.output;
  }

 private:
  Found node(const ir::Node& was, const ir::Node& now) const {
    if (was.op != now.op || was.op_name != now.op_name)
      return at(now, "the operator", was.op_name, now.op_name);
    if (Found d = attributes(was, now)) return d;
    if (was.inputs.size() != now.inputs.size())
      return at(now, "the number of inputs", std::to_string(was.inputs.size()),
                std::to_string(now.inputs.size()));
    for (std::size_t i = 0; i < was.inputs.size(); ++i)
      if (!same(was.inputs[i], now.inputs[i]))
        return at(now, fmt::format("input {}", i), name_of(was.inputs[i]), name_of(now.inputs[i]));
    if (was.np_shape != now.np_shape)
      return at(now, "numpy mode", was.np_shape ? "on" : "off", now.np_shape ? "on" : "off");
    if (was.recorded != now.recorded)
      return at(now, "whether it is recorded", was.recorded ? "yes" : "no", now.recorded ? "yes" : "no");
    if (was.train != now.train)
      return at(now, "the training mode of its scope", mode(was.train), mode(now.train));
    if (was.precision != now.precision)
      return at(now, "the precision of its scope", precision(was), precision(now));
    if (was.types != now.types) return at(now, "the type", types(was), types(now));
    return bodies(was, now);
  }

  static Found attributes(const ir::Node& was, const ir::Node& now) {
    for (const ir::Attrs::Item& item : now.attrs.items()) {
      const ir::AttrValue* const before = was.attrs.find(item.name);
      if (before && same_attr(*before, item.value)) continue;
      return at(now, fmt::format("the attribute {}", item.name), before ? ir::to_text(*before) : "nothing",
                ir::to_text(item.value));
    }
    for (const ir::Attrs::Item& item : was.attrs.items())
      if (!now.attrs.find(item.name))
        return at(now, fmt::format("the attribute {}", item.name), ir::to_text(item.value), "nothing");
    return {};
  }

  static Found bodies(const ir::Node& was, const ir::Node& now) {
    if (was.subgraphs.size() != now.subgraphs.size())
      return at(now, "the number of bodies", std::to_string(was.subgraphs.size()),
                std::to_string(now.subgraphs.size()));
    for (std::size_t i = 0; i < was.subgraphs.size(); ++i) {
      const ir::Subgraph &a = *was.subgraphs[i], &b = *now.subgraphs[i];
      const Comparison inside(a.inputs, a.nodes, b.inputs, b.nodes);
      if (Found d = inside.nodes(a.nodes, b.nodes)) return d;
      if (a.inputs.size() != b.inputs.size() ||
          !std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                      [&](const ir::Entry& x, const ir::Entry& y) { return inside.same(x, y); }))
        return at(now, fmt::format("body {}", i), "other inputs or results", "these");
    }
    return {};
  }

  static std::string mode(std::optional<bool> train) {
    return !train ? "none" : *train ? "training" : "prediction";
  }
  static std::string precision(const ir::Node& n) {
    return n.precision ? std::string(name_of(*n.precision)) : "none";
  }
  static std::string types(const ir::Node& n) {
    std::string out;
    for (const TensorType& t : n.types) out += (out.empty() ? "" : ", ") + t.str();
    return out;
  }

  Places a_, b_;
};

Found writes_and_results(const TracedCall& was, const TracedCall& now, const Comparison& graphs) {
  const auto whole = [](std::string what, std::size_t a, std::size_t b) {
    return RecordingDifference{"the call as a whole", "", std::move(what), std::to_string(a),
                               std::to_string(b)};
  };
  const ir::Graph &a = was.graph, &b = now.graph;
  if (a.outputs.size() != b.outputs.size())
    return whole("the number of results", a.outputs.size(), b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (!graphs.same(a.outputs[i], b.outputs[i]) || !(was.results[i] == now.results[i]))
      return at(*b.outputs[i].node, fmt::format("result {}", i), name_of(a.outputs[i]),
                name_of(b.outputs[i]));
  if (a.writes.size() != b.writes.size())
    return whole("the number of arrays written to", a.writes.size(), b.writes.size());
  for (std::size_t i = 0; i < a.writes.size(); ++i)
    if (a.writes[i].input != b.writes[i].input || a.writes[i].paused != b.writes[i].paused ||
        !graphs.same(a.writes[i].value, b.writes[i].value))
      return at(*b.writes[i].value.node, "a write to an array", a.inputs[a.writes[i].input]->name,
                b.inputs[b.writes[i].input]->name);
  return {};
}

Found captured_arrays(const TracedCall& was, const TracedCall& now) {
  const std::size_t inputs = was.signature.inputs.size();
  for (std::size_t i = 0; i < was.captures.size(); ++i) {
    const TracedCall::Capture &a = was.captures[i], &b = now.captures[i];
    const ir::Node& variable = *now.graph.inputs[inputs + i];
    if (a.array.get() == b.array.get()) continue;
    if (a.watched || b.watched || a.parameter || b.parameter)
      return at(variable, "the memory", a.parameter ? a.parameter->name : "one array",
                b.parameter ? b.parameter->name : "another array");
    // hybrid_forward creates the array anew each time.
    const Tensor x = a.whole(), y = b.whole();
    if (const auto element = first_difference(x, y))
      return at(variable, fmt::format("element {}", *element), element_text(x, *element),
                element_text(y, *element));
  }
  return {};
}

}  // namespace

Found code_difference(const TracedCall& was, const TracedCall& now) {
  const ir::Graph &a = was.graph, &b = now.graph;
  const Comparison graphs(a.inputs, a.nodes, b.inputs, b.nodes);
  if (Found d = graphs.nodes(a.nodes, b.nodes)) return d;
  for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i)
    if (a.inputs[i]->types != b.inputs[i]->types)
      return at(*b.inputs[i], "its type", a.inputs[i]->types.at(0).str(), b.inputs[i]->types.at(0).str());
  if (a.inputs.size() != b.inputs.size())
    return RecordingDifference{"the call as a whole", "", "the number of arrays that it captures",
                               std::to_string(was.captures.size()), std::to_string(now.captures.size())};
  for (std::size_t i = 0; i < was.captures.size(); ++i)
    if (!was.captures[i].parameter != !now.captures[i].parameter)
      return at(*b.inputs[was.signature.inputs.size() + i], "its kind",
                was.captures[i].parameter ? "a parameter" : "a tensor",
                now.captures[i].parameter ? "a parameter" : "a tensor");
  return writes_and_results(was, now, graphs);
}

Found recording_difference(const TracedCall& was, const TracedCall& now) {
  if (Found d = code_difference(was, now)) return d;
  return captured_arrays(was, now);
}

}  // namespace kiln::detail
