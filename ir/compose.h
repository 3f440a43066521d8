// Composes nodes of primitives.
#pragma once
#include "ir/draws.h"
#include "ir/graph.h"

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

namespace kiln::ir {

/// During its lifetime, primitives have the node's modes and are attributed to the node.
class NodeScope {
 public:
  /// `gradients`: it composes the node's gradients, not the node.
  NodeScope(Primitives& p, const Node& node, bool gradients = false);
  ~NodeScope();
  NodeScope(const NodeScope&) = delete;

 private:
  Primitives& p_;
  const bool np_shape_, train_, check_indices_;
};

/// Composes one node. Returns the counted outputs, then the new contents of its auxiliary inputs (see
/// OpDef::compose). Throws if Kiln does not have the operator.
std::vector<Value> compose(Primitives& p, const Node& node, Args in);

/// New contents of an auxiliary state.
struct AuxUpdate {
  const Node* state;
  Value value;
};
/// The updates of the node's auxiliary inputs that are variables, by `outputs`, all outputs of the node. The
/// new contents of a computed auxiliary input are one of the node's values, which later nodes name.
std::vector<AuxUpdate> aux_updates(const Node& node, Args outputs);

/// Maps nodes to values while a graph is composed in order.
class Composition {
 public:
  explicit Composition(Primitives& p) : p_(p) {}
  /// Binds a variable to a value; a later call rebinds it.
  void set(const Node& variable, Value value) { values_[&variable] = {value}; }
  /// Throws if the node has no such value.
  Value value_of(const Entry& e) const;
  /// The outputs of a node that was composed.
  Args values_of(const Node& node) const { return values_.at(&node); }
  /// Composes an operator node from the values of its inputs. Returns its aux_updates().
  std::vector<AuxUpdate> run(const Node& node);

 private:
  Primitives& p_;
  std::unordered_map<const Node*, std::vector<Value>> values_;
};

/// Composes a body with its variables bound to `in` and returns its outputs. Errors name the node. Throws if
/// a node updates an auxiliary state: a body cannot return the update.
std::vector<Value> compose(Primitives& p, const Subgraph& body, Args in);

/// The counter after the node alone is composed. The types of its inputs must be known.
DrawCounter random_draws(const Node& node, bool train);

/// Multiply-adds by operator, in the node and in its bodies.
struct MultiplyAdds {
  std::map<std::string, double, std::less<>> by_operator;  ///< name in the graph; without zeros
  /// Whether numbers decide how often a body runs. A loop with a condition counts its largest number of
  /// steps, a branch the body that has more.
  bool is_bound = false;
  double total() const;
};
/// The types of the node's inputs must be known.
MultiplyAdds multiply_adds(const Node& node, bool train);

/// The node in messages: operator and name.
std::string described(const Node& node);

/// Rethrows `e` with the node's line, operator and name before its text.
[[noreturn]] void rethrow_at(const Node& node, const Error& e);

}  // namespace kiln::ir
