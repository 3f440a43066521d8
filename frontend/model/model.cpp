// A symbol file with its parameters: loading, inputs and runs.
#include "frontend/call/line.h"
#include "frontend/call/moved_from.h"
#include "frontend/model/model_state.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/tensor/array.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/text.h"
#include "runtime/messages.h"

#include <algorithm>

namespace kiln {

std::string by_position_advice(const std::vector<NamedArray>& arrays, const std::vector<std::string>& names) {
  bool has_path = false;
  for (const NamedArray& a : arrays) {
    if (std::find(names.begin(), names.end(), detail::name_without_kind(a.name)) != names.end()) return {};
    has_path |= a.name.find('.') != std::string::npos;
  }
  return has_path
             ? ". save_parameters() names arrays by the position of their layers: net.export_model() and "
               "net.collect_params().save() write them by the names of a graph"
             : "";
}

namespace {

std::vector<std::string> distinct_names(const std::vector<ir::NodePtr>& nodes) {
  std::vector<std::string> names;
  for (const ir::NodePtr& n : nodes)
    if (std::find(names.begin(), names.end(), n->name) == names.end()) names.push_back(n->name);
  return names;
}

// A declared shape may have unknown extents; its rank and known extents must match.
void check_declared_shape(const ir::Node& variable, const Shape& shape, const std::string& file) {
  const ir::PartialShape declared = ir::declared_shape(variable);
  if (!declared.fits(shape))
    fail("{}: the array '{}' has the shape {}, but the symbol declares {}", file, variable.name, shape.str(),
         declared.str());
}

// Evenly spread over [low, high), the same for every run: a multiplicative hash of name and index.
Tensor spread(const std::string& name, const TensorType& type, double low, double high) {
  std::uint64_t state = 0x9E3779B97F4A7C15u;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  Tensor t = detail::TensorAccess::empty(type.shape, type.dtype);
  std::byte* data = detail::TensorAccess::data(t);
  for (std::int64_t i = 0; i < type.elements(); ++i, data += size_of(type.dtype)) {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    const auto value = static_cast<float>(low + (high - low) * static_cast<double>(z >> 40) / 16777216.0);
    convert_elements(&value, DType::f32, data, type.dtype, 1);
  }
  return t;
}

// The model without values.
std::shared_ptr<Model::State> open_symbol(const Symbol& symbol, const std::string& file) {
  auto state = std::make_shared<Model::State>();
  state->symbol = symbol;
  state->file = file;
  state->order = ir::topological_order(detail::SymbolAccess::entries(symbol));
  require_known_operators(state->order, file);
  state->variables = variables_of(state->order);
  return state;
}

}  // namespace

Model Model::load(const std::string& symbol_path, const std::optional<std::string>& params_path,
                  std::source_location where) {
  return at_line(where, [&] {
    const std::shared_ptr<State> state = open_symbol(Symbol::load(symbol_path, {}), symbol_path);
    if (params_path && !params_path->empty()) {
      state->params_file = *params_path;
      state->add_params(load_arrays(*params_path, {}));
      // Nobody else has these arrays yet, and a compiled model reads most of them in packed form only.
      for (const auto& [name, values] : state->values) detail::TensorAccess::array(values)->allow_release();
    }
    return Model(state);
  });
}

Model Model::from_symbol(const Symbol& symbol, const std::vector<NamedArray>& params) {
  const std::shared_ptr<State> state = open_symbol(symbol, "");
  state->add_params(params);
  return Model(state);
}

void Model::State::add_params(const std::vector<NamedArray>& params) {
  const std::string from = params_file.empty() ? "the parameters" : params_file;
  for (const NamedArray& array : params) {
    const std::string name = detail::name_without_kind(array.name);
    bool used = false;
    for (const ir::NodePtr& variable : variables.all) {
      if (variable->name != name) continue;
      used = true;
      check_declared_shape(*variable, array.array.shape(), from);
    }
    if (!used) {
      const std::vector<std::string> names = distinct_names(variables.all);
      fail("{}: the array '{}' belongs to no variable of {}, which has {}{}", from, array.name, in_file(),
           detail::brief_list(names), by_position_advice(params, names));
    }
    if (!values.emplace(name, array.array).second) fail("{}: there are two arrays '{}'", from, name);
  }
}

const Symbol& Model::symbol() const { return detail::live_state(state_, "Model").symbol; }

std::vector<std::string> Model::State::input_names() const {
  std::vector<std::string> names = distinct_names(variables.all);
  std::erase_if(names, [&](const std::string& n) { return values.contains(n); });
  return names;
}

std::vector<std::string> Model::input_names() const {
  return detail::live_state(state_, "Model").input_names();
}

void Model::State::require_inputs(const std::map<std::string, Shape>& shapes) const {
  const std::vector<std::string> wanted = input_names();
  for (const auto& [name, shape] : shapes)
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
      fail(Mistake::no_such_input, "{} has no input '{}'; it has {}", in_file(), name,
           detail::brief_list(wanted));
}

std::optional<ir::GivenType> Model::State::given_type(const ir::Node& variable,
                                                      const std::map<std::string, Shape>& shapes) const {
  if (const auto value = values.find(variable.name); value != values.end())
    return ir::GivenType{value->second.shape(), value->second.dtype()};
  if (const auto shape = shapes.find(variable.name); shape != shapes.end())
    return ir::GivenType{shape->second, std::nullopt};
  return std::nullopt;
}

std::vector<NamedArray> Model::params() const {
  const State& s = detail::live_state(state_, "Model");
  std::vector<NamedArray> arrays;
  for (const std::string& name : distinct_names(s.variables.all))
    if (const auto found = s.values.find(name); found != s.values.end())
      arrays.push_back({name, found->second});
  return arrays;
}

std::vector<std::string> Model::output_names() const { return symbol().list_outputs(); }

std::vector<std::string> Model::internals() const {
  std::vector<std::string> names;
  for (const ir::NodePtr& node : detail::live_state(state_, "Model").order) {
    if (node->is_variable()) continue;
    for (std::uint32_t i = 0; i < ir::visible_outputs(*node); ++i)
      names.push_back(ir::output_name({node, i, 0}));
  }
  return names;
}

std::string Model::describe_node(const std::string& internal) const {
  const State& s = detail::live_state(state_, "Model");
  for (const ir::NodePtr& node : s.order) {
    if (node->is_variable()) continue;
    for (std::uint32_t i = 0; i < ir::visible_outputs(*node); ++i) {
      if (ir::output_name({node, i, 0}) != internal) continue;
      const std::string line = node->location.str();
      return fmt::format("'{}' ({}){}{}", node->name, node->op_name, line.empty() ? "" : ", ", line);
    }
  }
  fail("{} has no inner value '{}'", s.in_file(), internal);
}

std::map<std::string, Tensor> Model::make_inputs(const std::map<std::string, Shape>& shapes) const {
  const State& s = detail::live_state(state_, "Model");
  s.require_inputs(shapes);
  TypedGraph graph(detail::SymbolAccess::entries(s.symbol));
  const auto given = [&](const ir::Node& variable) { return s.given_type(variable, shapes); };
  infer_graph(graph, given, false, s.file);
  const Variables variables = variables_of(graph.order);
  std::map<std::string, Tensor> inputs;
  std::vector<std::string> unknown;
  const auto fill = [&](const std::vector<ir::NodePtr>& nodes, double low, double high) {
    for (const ir::NodePtr& n : nodes) {
      if (s.values.contains(n->name)) continue;
      if (n->types.empty()) {
        unknown.push_back(n->name);
      } else {
        try {
          inputs.emplace(n->name, spread(n->name, n->types[0], low, high));
        } catch (const Error& e) {
          fail("{}: the variable '{}': {}", s.in_file(), n->name, e.what());
        }
      }
    }
  };
  fill(variables.arguments, -0.5, 0.5);
  fill(variables.auxiliary_states, 0.5, 1.5);  // variances are positive
  if (!unknown.empty()) {
    fail("{}: the shapes of {} do not follow from what is given; give them, or a params file", s.in_file(),
         detail::brief_list(unknown));
  }
  return inputs;
}

Model::State::Bound Model::State::bind(const std::map<std::string, Tensor>& inputs,
                                       const RunOptions& options) const {
  for (const auto& [name, tensor] : inputs) {
    if (std::none_of(variables.all.begin(), variables.all.end(),
                     [&, &n = name](const auto& v) { return v->name == n; }))
      fail(Mistake::no_such_input, "{} has no variable '{}'; it has {}", in_file(), name,
           detail::brief_list(distinct_names(variables.all)));
    if (!tensor.defined() || tensor.is_traced())
      fail(Mistake::missing_input, "{}: the input '{}' has no values", in_file(), name);
  }
  std::vector<ir::Entry> outputs = detail::SymbolAccess::entries(symbol);
  if (!options.extra_outputs.empty()) {
    const Symbol internals = symbol.get_internals();
    for (const std::string& name : options.extra_outputs)
      outputs.push_back(detail::SymbolAccess::entries(internals[name])[0]);
  }
  Bound bound;
  bound.graph = TypedGraph(outputs);
  bound.variables = variables_of(bound.graph.order);
  std::vector<std::string> missing;
  for (const ir::NodePtr& variable : bound.variables.all) {
    const auto input = inputs.find(variable->name);
    const auto value = values.find(variable->name);
    const bool is_input = input != inputs.end();
    bound.is_parameter.push_back(!is_input);
    if (is_input || value != values.end()) {
      bound.values.push_back(is_input ? input->second : value->second);
    } else {
      missing.push_back(variable->name);
    }
  }
  if (!missing.empty()) {
    fail(Mistake::missing_input, "{}: no value for {}: {}", in_file(), detail::brief_list(missing),
         params_file.empty() ? "give it as an input, or give a params file"
                             : fmt::format("it is no input and not in {}", params_file));
  }
  std::map<std::string_view, ir::GivenType> types;
  for (std::size_t i = 0; i < bound.values.size(); ++i)
    types[bound.variables.all[i]->name] = {bound.values[i].shape(), bound.values[i].dtype()};
  infer_graph(
      bound.graph, [&](const ir::Node& v) { return types.at(v.name); }, options.train, file);
  if (!bound.graph.types.complete)
    fail_internal("{}: shapes remain unknown though all inputs have one", in_file());
  // States that operators update are copied: updates belong to this run alone.
  if (options.train)
    for (std::size_t i = 0; i < bound.values.size(); ++i) {
      const auto& states = bound.variables.auxiliary_states;
      if (std::find(states.begin(), states.end(), bound.variables.all[i]) != states.end())
        bound.values[i] = bound.values[i].copy();
    }
  return bound;
}

ir::Graph Model::State::to_graph(const Bound& bound, const RunOptions& options) const {
  ir::Graph graph;
  graph.name = symbol.name().empty() ? "graph" : symbol.name();
  graph.inputs = bound.variables.all;
  graph.is_parameter = bound.is_parameter;
  for (const ir::NodePtr& node : bound.graph.order)
    if (!node->is_variable()) graph.nodes.push_back(node);
  graph.outputs = bound.graph.outputs;
  graph.train = options.train;
  return graph;
}

}  // namespace kiln
