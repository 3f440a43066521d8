#include "frontend/symbol_infer.h"

#include "frontend/symbol_graph.h"
#include "runtime/fail.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace kiln {

TypedGraph copy_graph(const std::vector<ir::Entry>& outputs) {
  TypedGraph graph;
  const auto mapped = [&](const ir::Entry& e) {
    return ir::Entry{graph.copies.at(e.node.get()), e.output, e.version};
  };
  for (const ir::NodePtr& node : file_order(outputs)) {
    auto copy = std::make_shared<ir::Node>(*node);
    copy->types.clear();
    for (ir::Entry& e : copy->inputs) e = mapped(e);
    for (ir::NodePtr& dep : copy->control_deps) dep = graph.copies.at(dep.get());
    graph.copies.emplace(node.get(), copy);
    graph.order.push_back(std::move(copy));
  }
  for (const ir::Entry& e : outputs) graph.outputs.push_back(mapped(e));
  return graph;
}

bool infer_graph(TypedGraph& graph, const std::function<std::optional<TensorType>(const ir::Node&)>& type_of,
                 bool train) {
  require_known_operators(graph.order, "");
  for (const ir::NodePtr& node : graph.order) {
    if (!node->is_variable()) continue;
    if (const std::optional<TensorType> type = type_of(*node)) node->types = {*type};
  }
  return ir::infer_types(graph.order, train);
}

DType declared_dtype(const ir::Node& variable) {
  const auto found = variable.attr_text.find("__dtype__");
  if (found == variable.attr_text.end()) return DType::f32;
  const std::string& text = found->second;
  std::int64_t flag = -1;
  std::from_chars(text.data(), text.data() + text.size(), flag);
  return dtype_from_flag(flag).value_or(DType::f32);
}

namespace {

// `__shape__` as it is written; nothing where it is not. An extent that is not known is 0, in numpy mode -1.
std::optional<Shape> written_shape(const ir::Node& variable) {
  const auto found = variable.attr_text.find("__shape__");
  if (found == variable.attr_text.end() || found->second == "None") return std::nullopt;
  try {
    const ir::AttrValue value =
        ir::parse_attr({.name = "__shape__", .kind = ir::AttrKind::tuple, .fallback = {}}, found->second);
    return std::get<Shape>(value);
  } catch (const Error& e) {
    fail("the variable '{}' declares __shape__ = \"{}\": {}", variable.name, found->second, e.what());
  }
}

}  // namespace

Shape declared_shape(const ir::Node& variable) {
  Shape shape = written_shape(variable).value_or(Shape());
  for (std::int64_t& d : shape) d = std::max<std::int64_t>(d, 0);
  return shape;
}

std::optional<TensorType> declared_type(const ir::Node& variable) {
  const std::optional<Shape> shape = written_shape(variable);
  if (!shape || (shape->empty() && !variable.np_shape)) return std::nullopt;
  const std::int64_t least = variable.np_shape ? 0 : 1;
  if (std::any_of(shape->begin(), shape->end(), [&](std::int64_t d) { return d < least; }))
    return std::nullopt;
  return TensorType{declared_dtype(variable), *shape};
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
