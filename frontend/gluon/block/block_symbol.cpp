// A network applied to symbols, and the export of a hybridized one.
#include "frontend/call/amp_rules.h"
#include "frontend/call/arithmetic.h"
#include "frontend/call/line.h"
#include "frontend/formats/file_io.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/block/export_sizes.h"
#include "frontend/gluon/block/exported_network.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/symbol/blocked_gradients.h"
#include "frontend/symbol/fixed_shape.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/trace/symbol_trace.h"
#include "runtime/log.h"
#include "runtime/messages.h"

#include <kiln/io.h>
#include <kiln/symbol.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kiln {

Symbol Block::compose(std::span<const Symbol> inputs, Where where) const {
  Tensors tensors;
  for (const Symbol& s : inputs)
    for (const Tensor& t : detail::SymbolAccess::tensors(s)) tensors.push_back(t);
  SymbolTrace trace;
  std::vector<ir::Entry> outputs;
  for (const Tensor& t : call(tensors, where)) {
    if (!t.defined()) fail("The block {} returned an undefined Tensor", name());
    outputs.push_back(detail::TensorAccess::array(trace.resolve(t))->value);
  }
  return detail::SymbolAccess::make(with_blocked_gradients(outputs));
}

Symbol Block::operator()(const Symbol& x, Where where) const { return compose({&x, 1}, where); }

namespace {

/// The first node, bodies included, that has a training mode; null if there is none.
const ir::Node* with_own_mode(const std::vector<ir::NodePtr>& nodes) {
  for (const ir::NodePtr& node : nodes) {
    if (node->train) return node.get();
    for (const ir::SubgraphPtr& body : node->subgraphs)
      if (const ir::Node* const inside = with_own_mode(body->nodes)) return inside;
  }
  return nullptr;
}

/// Throws if the call has effects that a symbol file cannot express.
void require_pure(const detail::TracedCall& call, std::source_location where) {
  for (const ir::Graph::Write& w : call.graph.writes) {
    const std::string line = w.value.node->location.str();
    fail(Mistake::cannot_export,
         "{}{}hybrid_forward writes into '{}', and a symbol file cannot express writes. Compute a new tensor "
         "instead of the write (y = x + 1 for x += 1), call the network and export "
         "again",
         line, line.empty() ? "" : ": ", call.graph.inputs[w.input]->name);
  }
  if (const ir::Node* const node = with_own_mode(ir::topological_order(call.graph.outputs))) {
    const std::string line = node->location.str();
    fail(Mistake::cannot_export,
         "{}{}the {} '{}' runs in {} mode, in a scope of hybrid_forward that changes the mode of the call, "
         "and a "
         "symbol file has one mode for all operators. Say it by the operator's attributes (use_global_stats "
         "of "
         "BatchNorm, mode = \"always\" of Dropout), or call the network in that mode and export again",
         line, line.empty() ? "" : ": ", node->op_name, node->name, *node->train ? "training" : "prediction");
  }
  if (call.other_values)
    fail(
        Mistake::cannot_export,
        "{}the latest call of hybrid_forward ran eagerly, because {}: its recording, and so a file, computes "
        "other values. Let hybrid_forward do without it, call the network and export again",
        line_prefix(where), call.eager_because);
}

/// The text of the warning.
std::string describe(const SizeDependence& sizes) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, sizes.reasons.size()); ++i) text += "\n  " + sizes.reasons[i];
  if (sizes.reasons.size() > most) text += fmt::format("\n  and {} more", sizes.reasons.size() - most);
  return text;
}

/// Makes the nodes of these names, in bodies too, the broadcasting forms of their operators.
void broadcast(FileGraph& graph, const std::set<std::string>& names) {
  for (FileNode& node : graph.nodes) {
    if (names.contains(node.name)) node.op = broadcasting_form(node.op);
    for (FileGraph& body : node.subgraphs) broadcast(body, names);
  }
}

bool is_json(const std::string& text) { return nlohmann::json::accept(text); }

/// Throws for a text that JSON does not allow. MXNet writes such files, and reads them.
[[noreturn]] void refuse_names(const FileGraph& file) {
  const auto require = [](const std::string& part, std::string_view what) {
    if (FileGraph alone; alone.nodes.push_back({"null", part}), !is_json(format_symbol_file(alone)))
      fail(
          "export_model() cannot write the {} '{}': a name in JSON is UTF-8 without control characters. Give "
          "the block another prefix, or the operator another name",
          what, part);
  };
  for (const FileNode& node : file.nodes) require(node.name, "node");
  for (const FileNode& node : file.nodes)
    for (const auto& [key, value] : node.attrs) require(value, "attribute");
  for (const FileNode& node : file.nodes)
    for (const FileGraph& body : node.subgraphs)
      if (!is_json(format_symbol_file(body))) refuse_names(body);
  fail_internal("a symbol file is no JSON");
}

/// The text of the file; its inputs declare the extents that the graph is limited to.
std::string symbol_text(const detail::TracedCall& call, const SizeDependence& sizes, bool remove_amp_cast) {
  const std::vector<ir::Entry> outputs = with_blocked_gradients(call.graph.outputs);
  FileGraph file = to_file_graph({remove_amp_cast ? without_amp_casts(outputs) : outputs});
  broadcast(file, sizes.broadcasts);
  for (std::size_t i = 0; i < sizes.fixed.size(); ++i) {
    const bool any =
        std::any_of(sizes.fixed[i].begin(), sizes.fixed[i].end(), [](const auto& d) { return !!d; });
    for (FileNode& node : file.nodes)
      if (any && node.op == "null" && node.name == call.graph.inputs[i]->name)
        set_fixed_shape(node.attrs, sizes.fixed[i]);
  }
  std::string text = format_symbol_file(file);
  if (!is_json(text)) refuse_names(file);
  return text;
}

}  // namespace

detail::ExportedNetwork detail::exported_network(const HybridBlock& block, const TracedCall& call,
                                                 const std::string& file, std::source_location where,
                                                 bool remove_amp_cast) {
  require_pure(call, where);
  const SizeDependence sizes = find_size_dependence(const_cast<HybridBlock&>(block), call, where);
  if (sizes.any()) {
    const std::string text = fmt::format(
        "{}{} is valid for inputs of these sizes only, because {} computes with sizes. Instead of x.shape() "
        "use forms that follow the input: 0 and -1 in reshape, open slices, zeros_like, broadcast_like, "
        "slice_like.{}",
        line_prefix(where), file, block.name(), describe(sizes));
    warn_once(text, text);
  }
  ExportedNetwork out;
  const Symbol symbol = SymbolAccess::make(call.graph.outputs);
  const auto arguments = symbol.list_arguments(), states = symbol.list_auxiliary_states();
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  const auto add = [&](const std::string& name, const Tensor& values) {
    if (has(arguments, name))
      out.arrays.push_back({"arg:" + name, values});
    else if (has(states, name))
      out.arrays.push_back({"aux:" + name, values});
  };
  const ParameterDict named = block.collect_params();
  for (const Parameter& p : named) add(p.name(), p.is_initialized() ? p.data({}) : Tensor());
  // In the file, other tensors captured by hybrid_forward are parameters, also one that data() gave.
  for (const auto& c : call.captures)
    if (!named.contains(c.name)) add(c.name, c.whole());
  for (std::size_t i = 0; i < call.signature.inputs.size(); ++i)
    out.inputs.push_back(call.graph.inputs[i]->name);
  out.symbol = at_line(where, [&] { return symbol_text(call, sizes, remove_amp_cast); });
  out.numpy_mode = in_numpy_mode(ir::topological_order(call.graph.outputs));
  return out;
}

void HybridBlock::export_model(const std::string& path_prefix, int epoch, bool remove_amp_cast,
                               Where where) const {
  const auto latest = detail::BlockAccess::latest(*this);
  if (!latest)
    fail(Mistake::not_hybridized,
         "{}export_model() writes what a call recorded, and {} has recorded none: call hybridize() and then "
         "the block "
         "on a tensor, at least once",
         line_prefix(where), detail::shown_name(*this));
  if (epoch < 0) fail("{}export_model() takes an epoch of 0 or more, not {}", line_prefix(where), epoch);
  if (amp_casts())
    warn_once(
        "export_model() of mixed precision",
        line_prefix(where) +
            "export_model() writes the network without mixed precision, and its file computes in float32: "
            "amp::convert_hybrid_block() makes a network whose file has the casts");
  const std::string symbol_path = path_prefix + "-symbol.json";
  const detail::ExportedNetwork files =
      detail::exported_network(*this, *latest, symbol_path, where, remove_amp_cast);
  at_line(where, [&] { write_file(symbol_path, files.symbol, "symbol file"); });
  save_arrays(fmt::format("{}-{:04}.params", path_prefix, epoch), files.arrays,
              {.numpy_mode = files.numpy_mode}, where);
}

}  // namespace kiln
