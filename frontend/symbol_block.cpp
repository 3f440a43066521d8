#include "frontend/array.h"
#include "frontend/block_state.h"
#include "frontend/naming.h"
#include "frontend/parameter_state.h"
#include "frontend/symbol_access.h"
#include "frontend/symbol_graph.h"
#include "frontend/symbol_infer.h"
#include "frontend/text.h"
#include "frontend/trace.h"
#include "runtime/fail.h"

#include <kiln/io.h>
#include <kiln/symbol_block.h>

#include <algorithm>
#include <charconv>
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
  std::unordered_map<const ir::Node*, std::size_t> input_of;  // variable -> number of the input
  std::unordered_map<const ir::Node*, Parameter> parameter_of;
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
  options.dtype = declared_dtype(variable);
  options.lr_mult = declared_number(variable, "__lr_mult__", 1);
  options.wd_mult = declared_number(variable, "__wd_mult__", 1);
  options.dtype_by_name = true;
  if (auxiliary) options.grad_req = GradReq::null;
  const bool known = params.contains(variable.name);
  Parameter p = params.get(variable.name, declared_shape(variable), options);
  // An exported file shows the variable as this one's file did.
  if (!known) ParameterAccess::state(p).variable_attrs = variable.attr_text;
  return p;
}

std::vector<std::string> names_of(const std::vector<Symbol>& inputs) {
  std::vector<std::string> names;
  for (const Symbol& s : inputs) names.push_back(s.name());
  return names;
}

[[noreturn]] void with_file(const std::string& file, const Error& e) {
  if (e.kind() != Error::Kind::user || file.empty() ||
      std::string_view(e.what()).find(file) != std::string_view::npos)
    throw e;
  throw Error(file + ": " + e.what());
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
  s.order = file_order(s.outputs);
  require_known_operators(s.order, file);
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
    for (const ir::NodePtr& v : nodes)
      if (!s.input_of.contains(v.get())) s.parameter_of.emplace(v.get(), make_parameter(own, *v, auxiliary));
  };
  add(variables.arguments, false);
  add(variables.auxiliary_states, true);
}

SymbolBlock SymbolBlock::imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                                 const std::string& param_file) {
  SymbolBlock block(Symbol::load(symbol_file), input_names, nullptr, symbol_file);
  if (param_file.empty()) return block;
  const ParameterDict params = block.params();
  // The values keep the dtype they were saved in.
  for (const NamedArray& a : load_arrays(param_file)) {
    const bool has_kind = a.name.starts_with("arg:") || a.name.starts_with("aux:");
    const std::string name = has_kind ? a.name.substr(4) : a.name;
    if (params.contains(name) && params[name].dtype() != a.array.dtype()) params[name].cast(a.array.dtype());
  }
  try {
    params.load(param_file);
  } catch (const Error& e) {
    with_file(param_file, e);
  }
  return block;
}

const Symbol& SymbolBlock::symbol() const { return state_->symbol; }

std::string SymbolBlock::str() const {
  return fmt::format("SymbolBlock(\n{} : {} -> {}\n)", state_->symbol.str(), state_->inputs.size(),
                     state_->symbol.size());
}

void SymbolBlock::infer_shape(const Tensors& inputs) {
  const State& s = *state_;
  TypedGraph graph = copy_graph(s.outputs);
  std::unordered_map<const ir::Node*, const ir::Node*> original;
  for (const auto& [from, to] : graph.copies) original.emplace(to.get(), from);
  const auto type_of = [&](const ir::Node& copy) -> std::optional<TensorType> {
    const ir::Node* const variable = original.at(&copy);
    if (const auto input = s.input_of.find(variable); input != s.input_of.end()) {
      const Tensor& t = inputs.at(input->second);
      return TensorType{TensorAccess::dtype(t), TensorAccess::shape(t)};
    }
    const Parameter& p = s.parameter_of.at(variable);
    if (!ParameterAccess::state(p).shape_known()) return std::nullopt;
    return TensorType{p.dtype(), p.shape()};
  };
  try {
    infer_graph(graph, type_of, is_training());
  } catch (const Error& e) {
    with_file(s.file, e);
  }
  for (const auto& [variable, parameter] : s.parameter_of) {
    const ir::Node& copy = *graph.copies.at(variable);
    if (!copy.types.empty()) Parameter(parameter).set_shape(copy.types[0].shape);
  }
}

Tensors SymbolBlock::hybrid_forward(F&, const Tensors& inputs) {
  const State& s = *state_;
  if (inputs.size() != s.inputs.size())
    fail("{} takes {} inputs ({}), but was called with {}", s.symbol.str(), s.inputs.size(),
         detail::brief_list(s.inputs), inputs.size());
  const NameScope names("");  // nodes are called what they are called in the file, wherever the block stands
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
      values[node.get()] = {inputs[input->second]};
      continue;
    }
    if (node->is_variable()) {
      values[node.get()] = {s.parameter_of.at(node.get())};
      continue;
    }
    arguments.clear();
    for (const ir::Entry& e : node->inputs) arguments.push_back(value(e));
    Tensors outputs;
    try {
      outputs = invoke(*node->op, arguments, node->attrs, {}, node->name, node->subgraphs, node->np_shape);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user) throw;
      fail("{}{}node '{}' ({}): {}", s.file, s.file.empty() ? "" : ": ", node->name, node->op_name, e.what());
    }
    // The recording shows the attributes as this one's file did, and where the node stands in it.
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
