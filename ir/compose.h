#pragma once
#include "ir/draws.h"
#include "ir/graph.h"

#include <unordered_map>

namespace kiln::ir {

/// What the node's operator makes of its inputs: the counted outputs, then the new contents of its auxiliary
/// inputs (see OpDef::compose). Throws for an operator that Kiln does not have.
std::vector<Value> compose(Primitives& p, const Node& node, Args in);

/// New contents of an auxiliary state.
struct AuxUpdate {
  const Node* state;
  Value value;
};

/// The values of a graph's nodes while they are composed, one after the other.
class Composition {
 public:
  explicit Composition(Primitives& p) : p_(p) {}
  /// What a variable stands for from here on.
  void set(const Node& variable, Value value) { values_[&variable] = {value}; }
  /// Throws for a node that has no such value.
  Value value_of(const Entry& e) const;
  /// Composes an operator's node from the values of its inputs. Returns the variables that it updates; of a
  /// computed auxiliary input the new contents are one of the node's values.
  std::vector<AuxUpdate> run(const Node& node);

 private:
  Primitives& p_;
  std::unordered_map<const Node*, std::vector<Value>> values_;
};

/// The outputs of a body for these values of its variables. Errors name the node. Throws where a node updates
/// an auxiliary state: a body has no way to hand out what it writes.
std::vector<Value> compose(Primitives& p, const Subgraph& body, Args in);

/// The random numbers that the node draws by itself. The types of its inputs must be known.
DrawCounter random_draws(const Node& node, bool train);

/// How messages call a node: operator and name.
std::string described(const Node& node);

/// Throws `e` again, with the node's line, operator and name in front of its text.
[[noreturn]] void rethrow_at(const Node& node, const Error& e);

}  // namespace kiln::ir
