#include "ir/graph.h"

#include "runtime/fail.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
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

std::vector<NodePtr> topological_order(const std::vector<Entry>& outputs) {
  std::vector<NodePtr> order;
  std::unordered_set<const Node*> seen;
  struct Frame {
    NodePtr node;
    std::size_t next;
  };
  std::vector<Frame> stack;
  for (const Entry& e : outputs) {
    if (seen.insert(e.node.get()).second) stack.push_back({e.node, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.node->inputs.size()) {
        const NodePtr& in = top.node->inputs[top.next++].node;
        if (seen.insert(in.get()).second) stack.push_back({in, 0});
        continue;
      }
      order.push_back(top.node);
      stack.pop_back();
    }
  }
  return order;
}

namespace {

[[noreturn]] void rethrow_at(const Node& node, const Error& e) {
  if (e.kind() != Error::Kind::user) throw e;
  const std::string where = node.location.str();
  const std::string who = node.op_name == node.name ? node.name : node.op_name + " '" + node.name + "'";
  fail("{}{}{}: {}", where, where.empty() ? "" : ": ", who, e.what());
}

bool known(const Entry& e) { return e.output < e.node->types.size(); }

bool complete(const PartialShape& s) {
  return s.known && std::find(s.shape.begin(), s.shape.end(), 0) == s.shape.end();
}

// A variable says its dtype, or has that of what it meets.
DType dtype_of_variable(const Node& variable, const Node& user) {
  const auto declared = variable.attr_text.find("__dtype__");
  if (declared != variable.attr_text.end()) {
    std::int64_t flag = -1;
    const std::string& text = declared->second;
    std::from_chars(text.data(), text.data() + text.size(), flag);
    if (const auto dtype = dtype_from_flag(flag)) return *dtype;
  }
  for (const Entry& e : user.inputs)
    if (known(e) && is_floating(e.node->types[e.output].dtype)) return e.node->types[e.output].dtype;
  return DType::f32;
}

void check_input_count(const Node& node) {
  const OpDef& op = *node.op;
  if (op.variadic && op.count_attr.empty()) return;
  const std::size_t wanted = op.input_count(node.attrs);
  if (wanted == node.inputs.size()) return;
  std::string names;
  for (std::size_t i = 0; i < wanted && i < op.inputs.size() && !op.variadic; ++i)
    names += (i ? ", " : " (") + std::string(op.inputs[i]);
  fail("takes {} inputs{}{} with these attributes, got {}", wanted, names, names.empty() ? "" : ")",
       node.inputs.size());
}

// Arrays made from nothing may be recorded before their shape is known: `_zeros` of (0, 12), a recurrent
// state for any batch. In such a shape 0 is what the operators around it tell.
bool is_source(const Node& node) {
  return node.op && node.inputs.empty() && node.op->attr("shape") && !node.attrs.is_none("shape");
}
bool is_open(const Node& node) {
  return is_source(node) && node.types.empty() && !complete({node.attrs.tuple("shape"), true});
}

/// What is known of shapes before types are: for the results of operators, from those that use them.
using Wanted = std::unordered_map<const Node*, PartialShape>;

// Gives shapes to inputs of the node where its row can tell them from the others, or from what is wanted of
// its result. Returns whether anything is known that was not.
bool infer_operands(const Node& node, Wanted& wanted) {
  std::vector<PartialShape> shapes;
  for (const Entry& e : node.inputs) {
    if (known(e))
      shapes.push_back({e.node->types[e.output].shape, true});
    else
      shapes.push_back(is_open(*e.node) ? PartialShape{e.node->attrs.tuple("shape"), true} : PartialShape{});
  }
  node.op->infer_inputs(shapes, node.attrs);
  if (auto found = wanted.find(&node); found != wanted.end() && node.op->infer_from_output)
    node.op->infer_from_output(shapes, found->second, node.attrs);
  bool learnt = false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Node& from = *node.inputs[i].node;
    if (!from.types.empty() || !complete(shapes[i])) continue;
    if (from.is_variable()) {
      from.types = {{dtype_of_variable(from, node), shapes[i].shape}};
      learnt = true;
    } else if (is_open(from)) {
      from.attrs.set("shape", shapes[i].shape);
      learnt = true;
    } else if (node.inputs[i].output == 0 && wanted.emplace(&from, shapes[i]).second) {
      learnt = true;
    }
  }
  return learnt;
}

// Whether the types of the node's outputs are known afterwards.
bool infer_outputs(Node& node, bool train) {
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), known)) return false;
  ShapeInference shapes(train);
  std::vector<Value> in;
  for (const Entry& e : node.inputs) in.push_back(shapes.input(e.node->types[e.output]));
  const std::vector<Value> out = node.op->compose(shapes, in, node.attrs);
  const auto counted = static_cast<std::size_t>(node.op->outputs_counted(node.attrs));
  if (out.size() < counted) fail_internal("{} gave {} of {} outputs", node.op_name, out.size(), counted);
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < counted; ++i)
    types.push_back(out[i].valid() ? shapes.type(out[i]) : TensorType{});
  node.types = std::move(types);
  return true;
}

}  // namespace

bool infer_types(const std::vector<NodePtr>& order, bool train) {
  Wanted wanted;
  // An earlier inference may have closed an open shape for another batch.
  for (const NodePtr& node : order)
    if (is_source(*node) && node->types.empty())
      if (auto text = node->attr_text.find("shape"); text != node->attr_text.end())
        node->attrs.set("shape", parse_attr(*node->op->attr("shape"), text->second));
  // A variable may be used before the operator that tells its shape: then another round is needed.
  for (bool close_open = false;;) {
    bool all = true;
    bool learnt = false;
    for (const NodePtr& node : order) {
      if (node->is_variable() || !node->op) {
        all &= !node->types.empty();
        continue;
      }
      if (is_open(*node) && !close_open) {
        all = false;
        continue;
      }
      const bool had = !node->types.empty();
      try {
        check_input_count(*node);
        if (node->op->infer_inputs && !std::all_of(node->inputs.begin(), node->inputs.end(), known))
          learnt |= infer_operands(*node, wanted);
        const bool has = infer_outputs(*node, train);
        all &= has;
        learnt |= has && !had;
      } catch (const Error& e) {
        rethrow_at(*node, e);
      }
    }
    if (all || (!learnt && close_open))
      return std::all_of(order.begin(), order.end(), [](const NodePtr& n) { return !n->types.empty(); });
    // Nobody tells what is still open: then it is an array without elements.
    if (!learnt) close_open = true;
  }
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
    const std::string where = node->location.str();
    s += fmt::format("  %{} = {}({}){} : {}{}{}\n", node->name, node->op_name, inputs, attrs, types(*node),
                     where.empty() ? "" : "  // ", where);
  }
  std::string outputs;
  for (const Entry& e : graph.outputs) outputs += (outputs.empty() ? "" : ", ") + reference(e);
  s += "  return " + outputs + "\n";
  for (const Graph::Write& w : graph.writes)
    s += fmt::format("  write %{} <- {}\n", graph.inputs.at(w.input)->name, reference(w.value));
  return s;
}

}  // namespace kiln::ir
