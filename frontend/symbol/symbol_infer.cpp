// Inference of shapes and dtypes on a copy of a symbol's graph.
#include "frontend/symbol/symbol_infer.h"

#include "frontend/symbol/fixed_shape.h"
#include "frontend/symbol/symbol_graph.h"

#include <unordered_set>

namespace kiln {

TypedGraph::TypedGraph(const std::vector<ir::Entry>& heads) : copies(ir::topological_order(heads)) {
  order = copies.nodes();
  for (const ir::Entry& e : heads) outputs.push_back(copies.of(e));
}

void rethrow_in_file(const std::string& file, const Error& e) {
  const std::string_view what = e.what();
  if (e.kind() != Error::Kind::user || file.empty() || what.find(file) != std::string_view::npos) throw;
  const std::size_t folder = file.rfind('/') + 1;  // 0 without one
  if (what.starts_with(file.substr(folder) + ":")) throw Error(file.substr(0, folder) + e.what());
  throw Error(file + ": " + e.what());
}

void infer_graph(TypedGraph& graph, const std::function<std::optional<ir::GivenType>(const ir::Node&)>& given,
                 bool train, const std::string& file) try {
  require_known_operators(graph.order, "");
  std::unordered_map<const ir::Node*, ir::GivenType> types;
  for (const ir::NodePtr& node : graph.order)
    if (node->is_variable())
      if (std::optional<ir::GivenType> type = given(*node)) {
        require_fixed_shape(*node, &type->shape, "");
        types.emplace(node.get(), std::move(*type));
      }
  graph.types = ir::infer_types(graph.order, train, types);
} catch (const Error& e) {
  rethrow_in_file(file, e);
}

ir::PartialShape partial_shape(const Shape& shape, bool np_shape) {
  if (shape.empty() && !np_shape) return {};
  Shape extents = shape;
  for (std::int64_t& d : extents)
    if (d == 0 && !np_shape) d = ir::PartialShape::unknown;
  return extents;
}

Shape mxnet_shape(const ir::PartialShape& shape, bool np_shape) {
  Shape extents = shape.extents;
  for (std::int64_t& d : extents)
    if (d < 0) d = np_shape ? -1 : 0;
  return extents;
}

Variables variables_of(const std::vector<ir::NodePtr>& order) {
  std::unordered_set<const ir::Node*> updated;
  for (const ir::NodePtr& node : order)
    for (std::size_t i = 0; i < node->inputs.size(); ++i)
      if (is_auxiliary_input(*node, i)) updated.insert(node->inputs[i].node.get());
  Variables variables;
  for (const ir::NodePtr& node : order) {
    if (!node->is_variable()) continue;
    variables.all.push_back(node);
    (updated.contains(node.get()) ? variables.auxiliary_states : variables.arguments).push_back(node);
  }
  return variables;
}

}  // namespace kiln
