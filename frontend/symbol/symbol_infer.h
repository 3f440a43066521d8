#pragma once
#include "ir/graph.h"

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kiln {

/// A copy of a symbol's graph whose nodes have types: the symbol's own are shared and stay as they are.
struct TypedGraph {
  TypedGraph() = default;
  explicit TypedGraph(const std::vector<ir::Entry>& outputs);

  std::vector<ir::NodePtr> order;  ///< execution order, variables too
  std::vector<ir::Entry> outputs;
  ir::GraphCopy copies;  ///< by the symbol's node
  ir::Inferred types;    ///< filled by infer_graph
};

/// The one shape inference of everything that reads a symbol: gives variables (of the copy) the types that
/// `given` knows, and infers the others as ir::infer_types does. Throws for operators that Kiln does not
/// have.
void infer_graph(TypedGraph& graph,
                 const std::function<std::optional<ir::GivenType>(const ir::Node& variable)>& given,
                 bool train);

/// A shape that may hold unknown extents: 0, in numpy mode -1.
ir::PartialShape partial_shape(const Shape& shape, bool np_shape);
/// The same the other way round. An unknown rank is ().
Shape mxnet_shape(const ir::PartialShape& shape, bool np_shape);

/// Variables in the order of a file, by whether an operator updates them.
struct Variables {
  std::vector<ir::NodePtr> arguments, auxiliary_states, all;
};
Variables variables_of(const std::vector<ir::NodePtr>& order);

}  // namespace kiln
