// Checks the subgraphs of MXNet's fused operators.
#include "frontend/ops/fused_parts.h"

#include <algorithm>
#include <array>

namespace kiln::ops {
namespace {

constexpr std::string_view convolution_chain =
                               "Convolution, then BatchNorm, an activation, elemwise_add and an activation",
                           dense_chain = "FullyConnected, then an activation";

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether MXNet fuses the node as an activation of one array.
bool is_activation(const ir::Node& node, bool of_dense) {
  const std::string_view op = node.op->name;
  if (op == "Activation") return node.attrs.word("act_type") != "softsign";
  if (op == "LeakyReLU") return is_one_of(node.attrs.word("act_type"), {"leaky", "elu", "gelu"});
  if (op == "clip") return node.attrs.real("a_min") == 0;
  return of_dense && is_one_of(op, {"square", "sqrt", "exp", "abs"});
}

/// Reads the operators of a body in order.
class Chain {
 public:
  Chain(const ir::Subgraph& body, std::string_view expected) : body_(body), expected_(expected) {
    for (const ir::NodePtr& node : body.nodes)
      if (!node->is_variable()) nodes_.push_back(node.get());
  }

  /// The next node, if it exists and `is_part`; checks its inputs.
  template <class F>
  const ir::Node* take(F is_part) {
    if (next_ == nodes_.size() || !nodes_[next_]->op || !is_part(*nodes_[next_])) return nullptr;
    const ir::Node& node = *nodes_[next_];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::Entry& e = node.inputs[i];
      const bool fits = i == 0 && next_ > 0
                            ? e.node.get() == nodes_[next_ - 1] && e.output == 0
                            : variables_ < body_.inputs.size() && e.node == body_.inputs[variables_++];
      if (!fits)
        fail(
            "input {} of '{}' ({}) in its subgraph is '{}': each operator must read the result of the one "
            "before it and then the next variables of the subgraph",
            i, node.name, node.op_name, e.node->name);
    }
    ++next_;
    return &node;
  }
  const ir::Node* take_op(std::string_view op) {
    return take([&](const ir::Node& node) { return node.op->name == op; });
  }

  /// Throws unless all nodes and variables were taken and the last result is the output.
  void finish() const {
    if (next_ < nodes_.size())
      fail("'{}' ({}) cannot be number {} of its subgraph, which has {} as far as there are any",
           nodes_[next_]->name, nodes_[next_]->op_name, next_ + 1, expected_);
    if (next_ == 0) fail("its subgraph has no operators; it has {} as far as there are any", expected_);
    if (variables_ < body_.inputs.size())
      fail("the variable '{}' of its subgraph is not an input of one operator",
           body_.inputs[variables_]->name);
    if (body_.outputs.size() != 1 || body_.outputs[0].node.get() != nodes_.back() ||
        body_.outputs[0].output != 0)
      fail("its subgraph must return the result of its last operator '{}' alone", nodes_.back()->name);
  }

 private:
  const ir::Subgraph& body_;
  const std::string_view expected_;
  std::vector<const ir::Node*> nodes_;
  std::size_t next_ = 0, variables_ = 0;
};

void require_flag(const Attrs& a, std::string_view name, const ir::Node* part, std::string_view what) {
  if (a.boolean(name) == (part != nullptr)) return;
  fail("{} = {}, but its subgraph {} {}", name, a.boolean(name) ? "True" : "False", part ? "has" : "lacks",
       what);
}

}  // namespace

FusedParts fused_convolution(const Attrs& a, const ir::Subgraph& body) {
  Chain chain(body, convolution_chain);
  const auto activation = [](const ir::Node& node) { return is_activation(node, false); };
  FusedParts parts;
  parts.linear = chain.take_op("Convolution");
  if (parts.linear) {
    parts.norm = chain.take_op("BatchNorm");
    parts.activation = chain.take(activation);
    parts.sum = chain.take_op("elemwise_add");
    if (parts.sum) parts.after_sum = chain.take(activation);
  }
  chain.finish();
  require_flag(a, "with_bn", parts.norm, "BatchNorm");
  require_flag(a, "with_act", parts.activation,
               parts.sum ? "an activation before elemwise_add" : "an activation");
  require_flag(a, "with_sum", parts.sum, "elemwise_add");
  require_flag(a, "with_postsum_act", parts.after_sum, "an activation after elemwise_add");
  if (parts.norm && parts.norm->attrs.integer("axis") != 1)
    fail("the axis of '{}' (BatchNorm) in its subgraph must be 1, the channels, not {}", parts.norm->name,
         parts.norm->attrs.integer("axis"));
  return parts;
}

FusedParts fused_dense(const Attrs& a, const ir::Subgraph& body) {
  Chain chain(body, dense_chain);
  FusedParts parts;
  parts.linear = chain.take_op("FullyConnected");
  if (parts.linear)
    parts.activation = chain.take([](const ir::Node& node) { return is_activation(node, true); });
  chain.finish();
  require_flag(a, "with_eltwise", parts.activation, "an activation");
  return parts;
}

}  // namespace kiln::ops
