// The contents of a file of a model: variables, operators, shapes as far as they are known, multiply-adds.
#include "frontend/call/line.h"
#include "frontend/formats/array_formats.h"
#include "frontend/formats/file_io.h"
#include "frontend/model/model_state.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_graph.h"
#include "ir/compose.h"
#include "runtime/fail.h"

#include <kiln/model_info.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

namespace kiln {
namespace {

/// Whether a file that begins so is a symbol file: its text begins with a brace. The length that begins a
/// safetensors file may look like one, but has bytes of 0.
bool is_symbol_file(std::span<const std::byte> head, std::string_view path) {
  if (path.ends_with(".json")) return true;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != text.npos && text[begin] == '{' && text.find('\0') == text.npos;
}

ArrayInfo array_info(std::string name, const ir::PartialShape& shape, std::optional<DType> dtype) {
  ArrayInfo info{.name = std::move(name), .dtype = dtype};
  if (!shape.ranked) return info;
  info.shape = shape.extents;
  if (!shape.complete()) return info;
  info.elements = product_of(shape.extents.dims());
  if (dtype) info.bytes = product_of(shape.extents.dims(), static_cast<std::int64_t>(size_of(*dtype)));
  return info;
}

ArrayInfo array_info(const NamedArray& array) {
  return array_info(array.name, array.array.shape(), array.array.dtype());
}

ModelInfo info_of_arrays(ArrayFormat format, const std::vector<NamedArray>& arrays) {
  ModelInfo info{.format = std::string(name_of(format))};
  for (const NamedArray& a : arrays) info.parameters.push_back(array_info(a));
  return info;
}

/// A symbol file that may have operators that Kiln lacks.
class SymbolInfo {
 public:
  SymbolInfo(std::string_view text, const std::string& path, const ModelInfoOptions& options)
      : shapes_(options.shapes) {
    state_.symbol = Symbol::load_json(text, path, {});
    state_.file = path;
    graph_ = TypedGraph(detail::SymbolAccess::entries(state_.symbol));
    state_.order = graph_.order;
    state_.variables = variables_of(graph_.order);
    if (options.params) {
      state_.params_file = *options.params;
      state_.add_params(load_arrays(*options.params, {}));
    }
    state_.require_inputs(shapes_);
    infer();
  }

  ModelInfo info() const {
    ModelInfo info{.format = "symbol"};
    info.not_inferred = not_inferred_;
    add_variables(info);
    for (const ir::Entry& e : graph_.outputs) info.outputs.push_back(of_entry(ir::output_name(e), e));
    count(info);
    return info;
  }

 private:
  // Of nodes that do not depend on an operator that Kiln lacks.
  void infer() {
    std::unordered_set<const ir::Node*> lacking;
    TypedGraph known = graph_;
    known.order.clear();
    for (const ir::NodePtr& node : graph_.order) {
      const auto lacks = [&](const ir::Entry& e) { return lacking.contains(e.node.get()); };
      if (is_known(*node) && std::none_of(node->inputs.begin(), node->inputs.end(), lacks))
        known.order.push_back(node);
      else
        lacking.insert(node.get());
    }
    const auto given = [&](const ir::Node& variable) { return state_.given_type(variable, shapes_); };
    try {
      infer_graph(known, given, /*train=*/false, state_.file);
      graph_.types = std::move(known.types);
    } catch (const Error& e) {
      // An input whose dtype nobody declares counts as float32, which may be the only contradiction.
      if (e.kind() != Error::Kind::user || !shapes_.empty()) throw;
      not_inferred_ = e.what();
    }
  }

  static bool is_known(const ir::Node& node) {
    const auto body_is_known = [](const ir::SubgraphPtr& body) {
      return std::all_of(body->nodes.begin(), body->nodes.end(),
                         [](const ir::NodePtr& inner) { return is_known(*inner); });
    };
    return node.is_variable() ||
           (node.op && std::all_of(node.subgraphs.begin(), node.subgraphs.end(), body_is_known));
  }

  ArrayInfo of_entry(std::string name, const ir::Entry& e) const {
    std::optional<DType> dtype;
    if (e.output < e.node->types.size())
      dtype = e.node->types[e.output].dtype;
    else if (e.node->is_variable())
      dtype = ir::declared_dtype(*e.node);
    ir::PartialShape shape = graph_.types.shape_of(e);
    if (!shape.ranked && e.node->is_variable()) shape = ir::declared_shape(*e.node);
    return array_info(std::move(name), shape, dtype);
  }

  bool is_parameter(const ir::Node& variable, bool is_state) const {
    if (!state_.params_file.empty() || state_.values.contains(variable.name))
      return state_.values.contains(variable.name);
    if (shapes_.contains(variable.name)) return false;
    return is_state || !shapes_.empty() || variable.attr_text.contains("__init__") ||
           variable.attr_text.contains("__lr_mult__");
  }

  void add_variables(ModelInfo& info) const {
    std::unordered_set<std::string_view> seen;
    const std::vector<ir::NodePtr>& states = state_.variables.auxiliary_states;
    for (const ir::NodePtr& variable : state_.variables.all) {
      if (!seen.insert(variable->name).second) continue;
      const bool is_state = std::find(states.begin(), states.end(), variable) != states.end();
      (is_parameter(*variable, is_state) ? info.parameters : info.inputs)
          .push_back(of_entry(variable->name, {variable, 0}));
    }
  }

  void count(ModelInfo& info) const {
    std::map<std::string, OperatorInfo, std::less<>> operators;
    const auto count_nodes = [&](const auto& self, const std::vector<ir::NodePtr>& nodes) -> void {
      for (const ir::NodePtr& node : nodes) {
        if (node->is_variable()) continue;
        OperatorInfo& op = operators.try_emplace(node->op_name).first->second;
        ++op.count;
        op.known = node->op != nullptr;
        for (const ir::SubgraphPtr& body : node->subgraphs) self(self, body->nodes);
      }
    };
    count_nodes(count_nodes, graph_.order);
    for (const ir::NodePtr& node : graph_.order) {
      if (node->is_variable()) continue;
      const auto has_type = [](const ir::Entry& e) { return e.output < e.node->types.size(); };
      if (node->types.empty() || !std::all_of(node->inputs.begin(), node->inputs.end(), has_type)) {
        ++info.uncounted_nodes;
        continue;
      }
      const ir::MultiplyAdds of_node = ir::multiply_adds(*node, /*train=*/false);
      info.multiply_adds_are_bound = info.multiply_adds_are_bound || of_node.is_bound;
      info.multiply_adds += of_node.total();
      for (const auto& [name, number] : of_node.by_operator) operators.at(name).multiply_adds += number;
    }
    for (auto& [name, op] : operators) {
      op.name = name;
      if (!op.known) op.nearest = ir::nearest_op(name);
      info.operators.push_back(std::move(op));
    }
    std::stable_sort(
        info.operators.begin(), info.operators.end(), [](const OperatorInfo& a, const OperatorInfo& b) {
          return a.multiply_adds != b.multiply_adds ? a.multiply_adds > b.multiply_adds : a.count > b.count;
        });
  }

  const std::map<std::string, Shape>& shapes_;
  Model::State state_;
  TypedGraph graph_;
  std::string not_inferred_;
};

}  // namespace

ModelInfo model_info(const std::string& path, const ModelInfoOptions& options, std::source_location where) {
  return at_line(where, [&] {
    const InputFile file(path, "model file");
    std::vector<std::byte> bytes;
    constexpr std::size_t telling = 64;
    if (!file.size()) {
      bytes = file.read_all();
    } else {
      bytes.resize(std::min(telling, *file.size()));
      file.read(0, bytes);
    }
    if (is_symbol_file(std::span(bytes).first(std::min(telling, bytes.size())), path)) {
      if (file.size()) bytes = file.read_all();
      return SymbolInfo({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, options).info();
    }
    if (options.params || !options.shapes.empty())
      fail("{}: a file of arrays takes neither a file of parameters nor shapes, which are for symbol files",
           path);
    ByteReader head(bytes, path);
    const ArrayFormat format = format_of(head);
    return info_of_arrays(format, file.size() ? load_arrays(path, {}) : parse_arrays(bytes, path));
  });
}

}  // namespace kiln
