// Gradients of a graph.
#pragma once
#include "ir/graph.h"
#include "ir/primitives.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

/// Gradients of a graph, composed node by node (the definition stands in ir/README.md). The nodes fix the
/// bits: the gradient of a value is one chain of additions, from the last node that uses the value to the
/// first. Nothing after composition (CSE, folding, fusion) changes it.
namespace kiln::ir {

/// The next term of a chain of additions: sum = sum + term. An invalid sum has no term yet; an invalid term
/// changes nothing.
void add_term(Primitives& p, Value& sum, Value term);

/// The gradients that a call of a graph's backward pass computes.
struct GradientRequest {
  static constexpr std::int64_t none = -1;
  /// By output of the graph: whether it has a gradient (a head).
  std::vector<bool> heads;
  /// By input of the graph: the number of its sum, or none. Inputs that are one value outside of the graph
  /// share a sum.
  std::vector<std::int64_t> sums;
  /// By sum: whether it has terms already, from uses that follow the graph.
  std::vector<bool> running;

  std::size_t head_count() const;
  std::size_t running_count() const;
  bool operator==(const GradientRequest&) const = default;
};

/// The composition of a graph and of its gradients.
class Differentiation {
 public:
  /// Composes the nodes of `graph` from `in`. `given` are values of its outputs that the caller has; an
  /// invalid one is computed here. Errors name the node.
  Differentiation(Primitives& p, const Subgraph& graph, Args in, Args given = {});
  ~Differentiation();
  Differentiation(const Differentiation&) = delete;

  std::vector<Value> outputs() const;
  /// By input: its new contents, if a node updates it as an auxiliary state; else invalid.
  std::vector<Value> updates() const;
  /// By output: whether it depends on an input that has a sum.
  std::vector<bool> active_outputs(const GradientRequest& request) const;
  /// The sums of `request`, given the heads (by output; invalid: none) and the terms so far (by sum; invalid:
  /// none). A sum without any term is invalid.
  std::vector<Value> sums(const GradientRequest& request, Args heads, Args running);
  /// The outputs of nodes that had a gradient in sums(), from the last to the first.
  using Reached = std::vector<std::pair<const Node*, std::size_t>>;
  const Reached& reached() const { return reached_; }

 private:
  struct TapedNode;
  using Sums = std::unordered_map<const Node*, std::vector<Value>>;
  using Active = std::unordered_map<const Node*, std::vector<bool>>;

  /// Which outputs of nodes an input with a sum reaches.
  Active active(const GradientRequest& request) const;
  std::vector<bool> active_outputs(const Active& active) const;
  Value value_of(const Entry& e) const;
  Value see(Value v) const;
  std::vector<bool> wanted_inputs(const Node& node, const Active& active) const;
  std::vector<Value> contributions_of(const TapedNode& taped, Args heads, const std::vector<bool>& wanted);

  Primitives& p_;
  const Subgraph& graph_;
  std::vector<Value> in_;
  std::unordered_map<const Node*, std::vector<Value>> values_;
  std::unordered_map<std::uint32_t, Value> given_;  // in the place of computed values
  std::vector<TapedNode> nodes_;
  Reached reached_;
};

/// Which values have a gradient, without composing anything.
struct GradientReach {
  std::vector<bool> sums;  ///< whether the sum has a term
  Differentiation::Reached values;
  bool operator==(const GradientReach&) const = default;
};
/// `inputs` are the types of the graph's.
GradientReach gradient_reach(const Subgraph& graph, const GradientRequest& request,
                             std::span<const TensorType> inputs, bool train);

/// By output of `graph`: whether it depends on one of the inputs that `reaching` tells, by a path that a
/// gradient may pass.
std::vector<bool> reached_outputs(const Subgraph& graph, const std::vector<bool>& reaching,
                                  std::span<const TensorType> inputs, bool train);

/// The gradients of `body` as an operator composes them. `in` holds, in this order, the inputs and the
/// outputs of the body that `uses` names, then the heads and the running sums of `request`.
struct GradientUses {
  std::vector<std::int64_t> inputs, outputs;
  std::vector<bool> sums = {};    ///< by sum: whether the graph adds a term to it
  std::vector<bool> active = {};  ///< by output: whether it depends on an input that has a sum
};
std::vector<Value> compose_gradients(Primitives& p, const Subgraph& body, const GradientRequest& request,
                                     const GradientUses& uses, Args in);
/// The inputs and outputs of `body` that the gradients read, and the sums that they reach.
GradientUses gradient_uses(const Subgraph& body, const GradientRequest& request, bool train);

}  // namespace kiln::ir
