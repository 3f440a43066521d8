#pragma once
#include "ir/graph.h"

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kiln {

/// A copy of a symbol's graph whose nodes may be given types: the symbol's own are shared and stay as they
/// are.
struct TypedGraph {
  std::vector<ir::NodePtr> order;  ///< execution order, variables too
  std::vector<ir::Entry> outputs;
  std::unordered_map<const ir::Node*, ir::NodePtr> copies;  ///< by the symbol's node
};

TypedGraph copy_graph(const std::vector<ir::Entry>& outputs);

/// Gives variables the types that `type_of` knows and infers the others. Returns whether everything is known;
/// throws on a contradiction, and for operators that Kiln does not have.
bool infer_graph(TypedGraph& graph,
                 const std::function<std::optional<TensorType>(const ir::Node& variable)>& type_of,
                 bool train);

/// What a variable declares in `__dtype__`; float32 if nothing.
DType declared_dtype(const ir::Node& variable);
/// What it declares in `__shape__`; 0 is an extent that is not known, rank 0 a shape of which nothing is.
Shape declared_shape(const ir::Node& variable);
/// Nothing when the shape is not declared, or only in part.
std::optional<TensorType> declared_type(const ir::Node& variable);

/// Variables in the order of a file, by whether an operator updates them.
struct Variables {
  std::vector<ir::NodePtr> arguments, auxiliary_states, all;
};
Variables variables_of(const std::vector<ir::NodePtr>& order);

}  // namespace kiln
