// Inference of shapes and dtypes on a copy of a symbol's graph.
#pragma once
#include "ir/graph.h"

#include <kiln/error.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln {

/// A copy of a symbol's graph for types: the symbol's own nodes are shared and immutable.
struct TypedGraph {
  TypedGraph() = default;
  explicit TypedGraph(const std::vector<ir::Entry>& outputs);

  std::vector<ir::NodePtr> order;  ///< execution order, variables included
  std::vector<ir::Entry> outputs;
  ir::GraphCopy copies;  ///< keyed by the symbol's nodes
  ir::Inferred types;    ///< filled by infer_graph
};

/// Type inference for all users of a symbol: sets variables (of the copy) from `given` and infers the others
/// by ir::infer_types. Throws for unknown operators. Errors begin with the path `file`, unless it is empty.
void infer_graph(TypedGraph& graph,
                 const std::function<std::optional<ir::GivenType>(const ir::Node& variable)>& given,
                 bool train, const std::string& file);
/// In a handler: rethrows `e` with the path before its text. A text that begins with a node's line has the
/// file's name already.
[[noreturn]] void rethrow_in_file(const std::string& file, const Error& e);

/// A partial shape from a Shape with unknown extents: 0, in numpy mode -1.
ir::PartialShape partial_shape(const Shape& shape, bool np_shape);
/// The inverse. An unknown rank is ().
Shape mxnet_shape(const ir::PartialShape& shape, bool np_shape);

/// Variables in the order of a file: arguments, or auxiliary states.
struct Variables {
  std::vector<ir::NodePtr> arguments, auxiliary_states, all;
};
Variables variables_of(const std::vector<ir::NodePtr>& order);

}  // namespace kiln
