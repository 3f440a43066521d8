// The class Symbol.
#include "frontend/call/line.h"
#include "frontend/formats/file_io.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/symbol/symbol_infer.h"
#include "frontend/tensor/array.h"
#include "frontend/tensor/text.h"
#include "frontend/trace/traced_view.h"
#include "runtime/fail.h"

#include <kiln/symbol.h>

#include <algorithm>
#include <ostream>

namespace kiln {

using detail::SymbolAccess;
using detail::TensorAccess;

struct Symbol::State {
  SymbolGraph graph;
};

namespace {

std::vector<std::string> names_of(const std::vector<ir::NodePtr>& nodes) {
  std::vector<std::string> names;
  for (const ir::NodePtr& n : nodes) names.push_back(n->name);
  return names;
}

ir::Entry entry_of(const Tensor& t) {
  if (!t.defined()) fail("an undefined Tensor (made by Tensor() and never assigned) is no symbol");
  if (!t.is_traced())
    fail(
        "an array with values is no symbol: compose with sym::var(\"name\") and give the array when the "
        "symbol is run");
  return value_of(t, {});
}

bool same_node(const std::vector<ir::Entry>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](const ir::Entry& e) { return e.node == outputs[0].node; });
}

}  // namespace

Symbol SymbolAccess::make(std::vector<ir::Entry> outputs) {
  if (outputs.empty()) fail("a symbol has at least one output");
  return Symbol(std::make_shared<Symbol::State>(Symbol::State{{std::move(outputs)}}));
}

std::vector<ir::Entry> SymbolAccess::entries(const Symbol& symbol) { return symbol.state().graph.heads; }

std::vector<Tensor> SymbolAccess::tensors(const Symbol& symbol) {
  std::vector<Tensor> tensors;
  for (const ir::Entry& e : symbol.state().graph.heads) {
    auto array = std::make_shared<detail::Array>(nullptr, e, Shape(), false);
    tensors.push_back(TensorAccess::make(std::move(array), 0, Shape(), DType::f32));
  }
  return tensors;
}

Symbol::Symbol(const Tensor& traced) : Symbol(std::vector<Tensor>{traced}) {}

Symbol::Symbol(const std::vector<Tensor>& traced) {
  std::vector<ir::Entry> outputs;
  for (const Tensor& t : traced) outputs.push_back(entry_of(t));
  *this = SymbolAccess::make(std::move(outputs));
}

const Symbol::State& Symbol::state() const {
  if (!state_) fail("this Symbol is empty (made by Symbol() and never assigned)");
  return *state_;
}

Symbol::operator Tensor() const {
  const std::vector<Tensor> tensors = SymbolAccess::tensors(*this);
  if (tensors.size() != 1) {
    std::string names;
    for (const std::string& n : list_outputs()) names += (names.empty() ? "" : ", ") + n;
    fail("{} has {} outputs where one is needed; choose one of them with []: {}", str(), tensors.size(),
         names);
  }
  return tensors[0];
}

Symbol Symbol::load_json(std::string_view json, const std::string& file, std::source_location where) {
  return at_line(where, [&] { return SymbolAccess::make(parse_symbol_graph(json, file).heads); });
}

Symbol Symbol::load(const std::string& path, std::source_location where) {
  return at_line(where, [&] {
    const std::vector<std::byte> bytes = read_file(path, "symbol file");
    return load_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  });
}

std::string Symbol::tojson(bool remove_amp_cast) const {
  SymbolGraph graph = state().graph;
  if (remove_amp_cast) graph.heads = without_amp_casts(graph.heads);
  return format_symbol_file(to_file_graph(graph));
}

void Symbol::save(const std::string& path, bool remove_amp_cast, std::source_location where) const {
  at_line(where, [&] { write_file(path, tojson(remove_amp_cast), "symbol file"); });
}

std::string Symbol::name() const {
  const std::vector<ir::Entry>& outputs = state().graph.heads;
  return same_node(outputs) ? outputs[0].node->name : "";
}

std::optional<std::string> Symbol::attr(std::string_view key) const {
  const std::vector<ir::Entry>& outputs = state().graph.heads;
  if (!same_node(outputs)) return std::nullopt;
  const auto& attrs = outputs[0].node->attr_text;
  const auto found = attrs.find(key);
  return found == attrs.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Symbol::list_arguments() const {
  return names_of(variables_of(ir::topological_order(state().graph.heads)).arguments);
}
std::vector<std::string> Symbol::list_auxiliary_states() const {
  return names_of(variables_of(ir::topological_order(state().graph.heads)).auxiliary_states);
}
std::vector<std::string> Symbol::list_inputs() const {
  return names_of(variables_of(ir::topological_order(state().graph.heads)).all);
}

std::vector<std::string> Symbol::list_outputs() const {
  std::vector<std::string> names;
  for (const ir::Entry& e : state().graph.heads) names.push_back(ir::output_name(e));
  return names;
}

Symbol Symbol::get_internals() const {
  std::vector<ir::Entry> all;
  for (const ir::NodePtr& node : ir::topological_order(state().graph.heads))
    for (std::uint32_t i = 0; i < ir::visible_outputs(*node); ++i) all.push_back({node, i, 0});
  return SymbolAccess::make(std::move(all));
}

std::size_t Symbol::size() const { return state().graph.heads.size(); }

Symbol Symbol::operator[](int i) const {
  const auto& outputs = state().graph.heads;
  const auto count = static_cast<int>(outputs.size());
  const int at = i < 0 ? i + count : i;
  if (at < 0 || at >= count)
    fail("{} has {} output{}, there is no number {}", str(), count, count == 1 ? "" : "s", i);
  return SymbolAccess::make({outputs[static_cast<std::size_t>(at)]});
}

Symbol Symbol::operator[](std::string_view output) const {
  const std::vector<std::string> names = list_outputs();
  const auto found = std::find(names.begin(), names.end(), output);
  if (found == names.end()) {
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 20); ++i)
      some += (i ? ", " : "") + names[i];
    fail("{} has no output '{}'; it has {}{}", str(), output, some, names.size() > 20 ? ", ..." : "");
  }
  if (std::find(found + 1, names.end(), output) != names.end())
    fail("{} has several outputs '{}': choose by number", str(), output);
  return (*this)[static_cast<int>(found - names.begin())];
}

InferredShapes Symbol::infer_shape(const std::map<std::string, Shape>& known,
                                   std::source_location where) const {
  return at_line(where, [&] { return shapes_for(known); });
}

InferredShapes Symbol::shapes_for(const std::map<std::string, Shape>& known) const {
  TypedGraph graph(state().graph.heads);
  const Variables variables = variables_of(graph.order);
  for (const auto& [name, shape] : known) {
    const auto is_it = [&name = name](const ir::NodePtr& n) { return n->name == name; };
    if (std::none_of(variables.all.begin(), variables.all.end(), is_it))
      fail("infer_shape: {} has no variable '{}'; it has {}", str(), name, detail::brief_list(list_inputs()));
  }
  const bool np_shape = in_numpy_mode(graph.order);
  infer_graph(
      graph,
      [&](const ir::Node& variable) -> std::optional<ir::GivenType> {
        const auto found = known.find(variable.name);
        if (found == known.end()) return std::nullopt;
        return ir::GivenType{partial_shape(found->second, np_shape), std::nullopt};
      },
      false, "");
  InferredShapes shapes;
  shapes.complete = graph.types.complete;
  const auto shape_of = [&](const ir::Entry& e) { return mxnet_shape(graph.types.shape_of(e), np_shape); };
  for (const ir::NodePtr& n : variables.arguments) shapes.arguments.push_back(shape_of({n}));
  for (const ir::NodePtr& n : variables.auxiliary_states) shapes.auxiliary_states.push_back(shape_of({n}));
  for (const ir::Entry& e : graph.outputs) shapes.outputs.push_back(shape_of(e));
  return shapes;
}

std::string Symbol::str() const {
  const std::vector<ir::Entry>& outputs = state().graph.heads;
  if (same_node(outputs)) return "<Symbol " + outputs[0].node->name + ">";
  std::string names;
  for (const ir::Entry& e : outputs) names += (names.empty() ? "" : ", ") + e.node->name;
  return "<Symbol group [" + names + "]>";
}

std::ostream& operator<<(std::ostream& os, const Symbol& s) { return os << s.str(); }

namespace sym {

Symbol var(const std::string& name, const VarOptions& options) {
  auto node = std::make_shared<ir::Node>();
  node->name = name;
  for (const auto& [key, value] : options.attr) {
    if (key.size() < 4 || !key.starts_with("__") || !key.ends_with("__"))
      fail("the attribute '{}' of the variable '{}' must begin and end with two underscores", key, name);
    node->attr_text[key] = value;
  }
  if (options.shape) node->attr_text["__shape__"] = options.shape->str();
  if (options.dtype) node->attr_text["__dtype__"] = std::to_string(static_cast<int>(*options.dtype));
  if (options.lr_mult) node->attr_text["__lr_mult__"] = ir::python_float(*options.lr_mult);
  if (options.wd_mult) node->attr_text["__wd_mult__"] = ir::python_float(*options.wd_mult);
  if (options.init) node->attr_text["__init__"] = *options.init;
  return SymbolAccess::make({{std::move(node), 0, 0}});
}

Symbol group(const std::vector<Symbol>& symbols, std::source_location where) {
  return at_line(where, [&] {
    std::vector<ir::Entry> outputs;
    for (const Symbol& s : symbols)
      for (const ir::Entry& e : SymbolAccess::entries(s)) outputs.push_back(e);
    return SymbolAccess::make(std::move(outputs));
  });
}

Symbol load(const std::string& path, std::source_location where) { return Symbol::load(path, where); }
Symbol load_json(std::string_view json, std::source_location where) {
  return Symbol::load_json(json, "the JSON text", where);
}

}  // namespace sym
}  // namespace kiln
