// SymbolBlock: the variables of a symbol as parameters and inputs.
#include "frontend/call/call_context.h"
#include "frontend/call/call_site.h"
#include "frontend/call/invoke.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/symbol/fixed_shape.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/symbol/symbol_infer.h"
#include "frontend/tensor/array.h"
#include "frontend/tensor/text.h"
#include "frontend/trace/naming.h"
#include "ir/compose.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"

#include <kiln/io.h>
#include <kiln/symbol_block.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <unordered_map>

namespace kiln {

using detail::ParameterAccess;
using detail::SymbolAccess;
using detail::TensorAccess;

struct SymbolBlock::State {
  Symbol symbol;
  std::string file;
  std::vector<std::string> inputs;
  std::vector<ir::NodePtr> order;
  std::vector<ir::Entry> outputs;
  bool has_open = false;                                      // whether some shapes depend on the inputs
  std::unordered_map<const ir::Node*, std::size_t> input_of;  // variable -> input index
  std::unordered_map<const ir::Node*, Parameter> parameter_of;

  void check_count(const Tensors& tensors) const;
  /// The graph with types inferred for these inputs.
  std::shared_ptr<const TypedGraph> typed(const Tensors& tensors) const;
  /// The same, cached for inputs of the same types as in the previous call.
  std::shared_ptr<const TypedGraph> typed_once(const Tensors& tensors);

 private:
  Mutex mutex_;
  std::vector<TensorType> last_types_;
  bool last_train_ = false;
  std::shared_ptr<const TypedGraph> last_;
};

namespace {

double declared_number(const ir::Node& variable, std::string_view key, double fallback) {
  const auto found = variable.attr_text.find(key);
  if (found == variable.attr_text.end()) return fallback;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), fallback);
  return fallback;
}

Parameter make_parameter(const ParameterDict& params, const ir::Node& variable, bool auxiliary) {
  ParameterOptions options;
  options.dtype = ir::declared_dtype(variable).value_or(DType::f32);
  options.lr_mult = declared_number(variable, "__lr_mult__", 1);
  options.wd_mult = declared_number(variable, "__wd_mult__", 1);
  options.dtype_by_name = true;
  if (auxiliary) options.grad_req = GradReq::null;
  const bool known = params.contains(variable.name);
  // In a parameter's shape, an unknown extent is 0 in all modes.
  const Shape declared = mxnet_shape(ir::declared_shape(variable), /*np_shape=*/false);
  Parameter p = params.get(variable.name, declared, options);
  // An exported file has the variable's attributes of this file.
  if (!known) ParameterAccess::state(p).variable_attrs = variable.attr_text;
  return p;
}

std::vector<std::string> names_of(const std::vector<Symbol>& inputs) {
  std::vector<std::string> names;
  for (const Symbol& s : inputs) names.push_back(s.name());
  return names;
}

constexpr detail::LoadAdvice imports_advice{
    ". Give the file that was exported with the symbol file, or name the variable among the inputs if it is "
    "one. A file of save_parameters() is for load_parameters() of the network's class",
    ". Give the file that was exported with the symbol file. An input has no values in it"};

// The line that called the block, as a message begins: "net.cpp:7: ".
std::string call_line() { return line_prefix(std::source_location()); }

// "net-symbol.json:12: node 'fc1' (FullyConnected, weight 'fc1_weight', bias 'fc1_bias')"
std::string describe(const ir::Node& node, const std::string& file) {
  const SourceLocation& at = node.location;
  const std::string& path = file.empty() ? at.file : file;
  std::string text = at.line == 0 ? path : fmt::format("{}:{}", path, at.line);
  text += fmt::format("{}node '{}' ({}", text.empty() ? "" : ": ", node.name, node.op_name);
  const std::vector<std::string_view> names = node.op->input_names(node.attrs);
  for (std::size_t i = 0; i < node.inputs.size() && i < names.size(); ++i)
    if (node.inputs[i].node->is_variable())
      text += fmt::format(", {} '{}'", names[i], node.inputs[i].node->name);
  return text + ")";
}

}  // namespace

SymbolBlock::SymbolBlock(const Symbol& outputs, const std::vector<Symbol>& inputs,
                         const ParameterDict* params)
    : SymbolBlock(outputs, names_of(inputs), params, "") {}

SymbolBlock::SymbolBlock(const Symbol& outputs, const std::vector<std::string>& inputs,
                         const ParameterDict* params, const std::string& file)
    : HybridBlock(BlockOptions{.prefix = "", .params = params}, "symbolblock"),
      state_(std::make_shared<State>()) {
  State& s = *state_;
  s.symbol = outputs;
  s.file = file;
  s.inputs = inputs;
  s.outputs = SymbolAccess::entries(outputs);
  s.order = ir::topological_order(s.outputs);
  require_known_operators(s.order, file);
  s.has_open = ir::has_open_source(s.order);
  const Variables variables = variables_of(s.order);
  const std::string in = file.empty() ? outputs.str() : file;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    bool found = false;
    for (const ir::NodePtr& v : variables.all) {
      if (v->name != inputs[i]) continue;
      found = true;
      s.input_of.emplace(v.get(), i);
    }
    if (!found)
      fail("{}: there is no variable '{}' to be an input; its variables are {}", in, inputs[i],
           detail::brief_list(outputs.list_inputs()));
  }
  const ParameterDict own = Block::params();
  const auto add = [&](const std::vector<ir::NodePtr>& nodes, bool auxiliary) {
    for (const ir::NodePtr& v : nodes) {
      if (s.input_of.contains(v.get())) continue;
      try {
        const Parameter p = make_parameter(own, *v, auxiliary);
        ParameterAccess::state(p).symbol_file = file;
        s.parameter_of.emplace(v.get(), p);
      } catch (const Error& e) {
        // A second variable of the name, or a shared parameter, of another shape.
        if (e.kind() != Error::Kind::user) throw;
        throw Error(place_in_file(in, *v, 0) + ": " + e.what());
      }
    }
  };
  add(variables.arguments, false);
  add(variables.auxiliary_states, true);
}

SymbolBlock SymbolBlock::imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                                 const std::string& param_file, Where where) try {
  SymbolBlock block(Symbol::load(symbol_file, {}), input_names, nullptr, symbol_file);
  if (param_file.empty()) return block;
  const ParameterDict params = block.params();
  // The values keep the dtype of the params file.
  std::vector<NamedArray> loaded = load_arrays(param_file, {});
  for (const NamedArray& a : loaded) {
    const std::string name = detail::name_without_kind(a.name);
    if (params.contains(name) && params[name].dtype() != a.array.dtype()) params[name].cast(a.array.dtype());
  }
  try {
    detail::load_by_name(params, std::move(loaded), param_file, {}, "", imports_advice);
  } catch (const Error& e) {
    rethrow_in_file(param_file, e);
  }
  return block;
} catch (const Error&) {
  rethrow_at_line(where);
}

const Symbol& SymbolBlock::symbol() const { return detail::live_state(state_, "SymbolBlock").symbol; }

const std::vector<std::string>& SymbolBlock::input_names() const {
  return detail::live_state(state_, "SymbolBlock").inputs;
}

std::string SymbolBlock::str() const {
  const State& s = detail::live_state(state_, "SymbolBlock");
  return fmt::format("SymbolBlock(\n{} : {} -> {}\n)", s.symbol.str(), s.inputs.size(), s.symbol.size());
}

void SymbolBlock::State::check_count(const Tensors& tensors) const {
  if (tensors.size() != inputs.size())
    fail("{} takes {} inputs ({}), but was called with {}", symbol.str(), inputs.size(),
         detail::brief_list(inputs), tensors.size());
}

std::shared_ptr<const TypedGraph> SymbolBlock::State::typed(const Tensors& tensors) const {
  auto graph = std::make_shared<TypedGraph>(outputs);
  std::unordered_map<const ir::Node*, const ir::Node*> original;
  for (const ir::NodePtr& node : order)
    if (node->is_variable()) original.emplace(graph->copies.of(node.get()).get(), node.get());
  const auto given = [&](const ir::Node& copy) -> std::optional<ir::GivenType> {
    const ir::Node* const variable = original.at(&copy);
    if (const auto input = input_of.find(variable); input != input_of.end()) {
      const Tensor& t = tensors.at(input->second);
      return ir::GivenType{TensorAccess::shape(t), TensorAccess::dtype(t)};
    }
    const Parameter& p = parameter_of.at(variable);
    const bool known = ParameterAccess::state(p).shape_known();
    return ir::GivenType{known ? p.shape() : partial_shape(p.shape(), /*np_shape=*/false), p.dtype()};
  };
  try {
    infer_graph(*graph, given, is_training(), file);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) throw;
    throw Error(call_line() + e.what());
  }
  return graph;
}

std::shared_ptr<const TypedGraph> SymbolBlock::State::typed_once(const Tensors& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& t : tensors) types.push_back({TensorAccess::dtype(t), TensorAccess::shape(t)});
  const bool train = is_training();
  {
    const std::lock_guard lock(mutex_);
    if (last_ && last_types_ == types && last_train_ == train) return last_;
  }
  std::shared_ptr<const TypedGraph> graph = typed(tensors);
  if (!graph->types.complete) return graph;
  const std::lock_guard lock(mutex_);
  last_types_ = std::move(types);
  last_train_ = train;
  return last_ = std::move(graph);
}

void SymbolBlock::infer_shape(const Tensors& inputs) {
  const State& s = detail::live_state(state_, "SymbolBlock");
  s.check_count(inputs);
  const std::shared_ptr<const TypedGraph> graph = s.typed(inputs);
  for (const auto& [variable, parameter] : s.parameter_of) {
    const ir::Node& copy = *graph->copies.of(variable);
    if (!copy.types.empty()) Parameter(parameter).set_shape(copy.types[0].shape);
  }
}

Tensors SymbolBlock::hybrid_forward(F&, const Tensors& inputs) {
  State& s = *state_;
  s.check_count(inputs);
  // Extents left open in the file follow from the inputs of this call.
  const bool known = std::all_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    return t.defined() && (!t.is_traced() || TensorAccess::array(t)->shape_known);
  });
  const std::shared_ptr<const TypedGraph> typed = s.has_open && known ? state_->typed_once(inputs) : nullptr;
  const NameScope names("");  // nodes keep their names of the file, in any scope
  std::unordered_map<const ir::Node*, Tensors> values;
  const auto value = [&](const ir::Entry& e) -> const Tensor& {
    const Tensors& outputs = values.at(e.node.get());
    if (e.output >= outputs.size())
      fail("output {} of node '{}' is hidden: nothing can use it", e.output, e.node->name);
    return outputs[e.output];
  };
  Tensors arguments;
  for (const ir::NodePtr& node : s.order) {
    if (const auto input = s.input_of.find(node.get()); input != s.input_of.end()) {
      const Tensor& given = inputs[input->second];
      const ir::PartialShape shape = TensorAccess::shape(given);
      try {
        require_fixed_shape(*node, TensorAccess::array(given)->shape_known ? &shape : nullptr, s.file);
      } catch (const FixedShapeError& e) {
        throw FixedShapeError(line_prefix(CallSite::caller()) + e.what());
      }
      values[node.get()] = {given};
      continue;
    }
    if (node->is_variable()) {
      values[node.get()] = {s.parameter_of.at(node.get())};
      continue;
    }
    arguments.clear();
    for (const ir::Entry& e : node->inputs) arguments.push_back(value(e));
    Tensors outputs;
    const ir::Node& meant = typed ? *typed->copies.of(node.get()) : *node;
    try {
      outputs = invoke(*node->op, arguments, meant.attrs, {}, node->name, meant.subgraphs, node->np_shape);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user) throw;
      // The message may begin with the call's line and with the operator.
      std::string_view what = e.what();
      for (const std::string& part : {call_line(), node->op_name + ": ", ir::described(*node) + ": "})
        if (what.starts_with(part)) what.remove_prefix(part.size());
      throw Error(call_line() + describe(*node, s.file) + ": " + std::string(what));
    }
    // Recorded nodes have the attribute texts and the locations of this file.
    if (!outputs.empty() && outputs[0].is_traced()) {
      ir::Node& recorded = *TensorAccess::array(outputs[0])->value.node;
      recorded.attr_text = node->attr_text;
      recorded.location = node->location;
    }
    values[node.get()] = std::move(outputs);
  }
  Tensors results;
  for (const ir::Entry& e : s.outputs) results.push_back(value(e));
  return results;
}

}  // namespace kiln
