// Finds the graph of a trained network, and its dense layers and convolutions.
#include "frontend/gluon/quantize/float_network.h"

#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/block/exported_network.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/tensor/text.h"
#include "ir/nearest_name.h"
#include "runtime/dynamic_type.h"
#include "runtime/fail.h"

#include <kiln/symbol_block.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <typeinfo>

namespace kiln::detail {
namespace {

constexpr std::array<std::string_view, 2> quantized_ops = {"FullyConnected", "Convolution"};

bool is_layer(const ir::Node& node) {
  return node.op &&
         std::find(quantized_ops.begin(), quantized_ops.end(), node.op->name) != quantized_ops.end();
}

/// Of a SymbolBlock: its own graph, whose inputs keep their names.
FloatNetwork of_symbol(const SymbolBlock& block, const Tensors& batch, std::source_location where) {
  const ParameterDict params = block.params();
  if (std::any_of(params.begin(), params.end(), [](const Parameter& p) { return p.is_deferred(); }))
    block(batch, where);
  FloatNetwork out{SymbolAccess::entries(block.symbol()), block.input_names(), {}};
  for (const Parameter& p : params) out.parameters.emplace(p.name(), p.data(where));
  return out;
}

/// Of any other block: the graph that export_model() would write.
FloatNetwork of_recording(const HybridBlock& net, const Tensors& batch, std::source_location where) {
  const Recorded recorded = record_call(const_cast<HybridBlock&>(net), CallSignature(batch, false), batch,
                                        /*recording=*/false);
  if (recorded.call->graph.outputs.empty())
    fail("quantize() needs the graph of {}, which has none, because {}", shown_name(net),
         recorded.call->eager_because);
  const ExportedNetwork files =
      exported_network(net, *recorded.call, "The int8 network of " + shown_name(net), where);
  const Symbol symbol = Symbol::load_json(files.symbol, "the graph of " + shown_name(net), {});
  FloatNetwork out{SymbolAccess::entries(symbol), files.inputs, {}};
  for (const NamedArray& a : files.arrays) out.parameters.emplace(name_without_kind(a.name), a.array);
  return out;
}

/// Appends the layers of the bodies of a node, and of bodies in them.
void add_layers_of(const ir::Node& owner, std::vector<FloatLayer>& layers) {
  const bool fused = owner.op && owner.op->name.starts_with("_sg_mkldnn_");
  for (const ir::SubgraphPtr& body : owner.subgraphs)
    for (const ir::NodePtr& node : body->nodes) {
      if (is_layer(*node))
        layers.push_back({node, fused ? "fused by MXNet: quantize the file from before get_backend_symbol()"
                                      : "in the body of a loop or branch"});
      add_layers_of(*node, layers);
    }
}

/// The parameters of the blocks of this name, or at this path ("0.up"), in the tree.
void add_parameters_of(const Block& block, const std::string& path, const std::string& name,
                       std::set<std::string>& parameters) {
  if (block.name() == name || path == name)
    for (const Parameter& p : block.collect_params()) parameters.insert(p.name());
  for (const auto& [key, child] : block.children())
    add_parameters_of(*child, path.empty() ? key : path + "." + key, name, parameters);
}

/// Excludes the layers of this name: of a node, a layer ("net0_dense0" of "net0_dense0_fwd"), or a block, by
/// the tree of `net` and by the prefix of names in a file.
void exclude_layers(const HybridBlock& net, const std::string& excluded, std::vector<FloatLayer>& layers) {
  std::set<std::string> parameters;
  add_parameters_of(net, "", excluded, parameters);
  const std::function<bool(const FloatLayer&)> kinds[] = {
      [&](const FloatLayer& layer) {
        return layer.node->name == excluded || layer.node->name == excluded + "_fwd";
      },
      [&](const FloatLayer& layer) { return parameters.contains(layer.weight()); },
      [&](const FloatLayer& layer) { return layer.node->name.starts_with(excluded + "_"); }};
  for (const auto& is_named : kinds) {
    bool found = false;
    for (FloatLayer& layer : layers) {
      if (!is_named(layer)) continue;
      found = true;
      if (layer.float_because.empty()) layer.float_because = "excluded";
    }
    if (found) return;
  }
  std::vector<std::string> nodes;
  std::vector<std::string_view> known;
  for (const FloatLayer& layer : layers) {
    nodes.push_back(layer.node->name);
    known.emplace_back(layer.node->name);
    if (known.back().ends_with("_fwd")) known.push_back(known.back().substr(0, known.back().size() - 4));
  }
  const std::string_view nearest = ir::nearest_name(excluded, known);
  fail(
      "quantize(): exclude names '{}', and no layer, nor a block with layers, has this name.{} The layers "
      "are {}",
      excluded, nearest.empty() ? "" : fmt::format(" Is '{}' meant?", nearest), brief_list(nodes));
}

}  // namespace

FloatNetwork float_network(const HybridBlock& net, const Tensors& batch, std::source_location where) {
  const std::type_info* const type = dynamic_type(net);
  FloatNetwork out = type && *type == typeid(SymbolBlock)
                         ? of_symbol(static_cast<const SymbolBlock&>(net), batch, where)
                         : of_recording(net, batch, where);
  for (const auto& [name, array] : out.parameters)
    if (!array.defined()) fail("quantize(): the parameter '{}' has no values: call initialize() first", name);
  return out;
}

std::vector<FloatLayer> float_layers(const HybridBlock& net, const FloatNetwork& network,
                                     const std::vector<std::string>& exclude) {
  std::vector<FloatLayer> layers;
  for (const ir::NodePtr& node : ir::topological_order(network.outputs)) {
    if (is_layer(*node)) {
      const ir::Node& weight = *node->inputs[1].node;
      const bool known = weight.is_variable() && network.parameters.contains(weight.name);
      const bool cast = weight.op && weight.op->name == "amp_cast";
      layers.push_back({node, known  ? ""
                              : cast ? "its weight is cast by amp_cast: quantize the network from before amp"
                                     : "its weight is no parameter"});
    }
    add_layers_of(*node, layers);
  }
  for (const std::string& name : exclude) exclude_layers(net, name, layers);
  return layers;
}

}  // namespace kiln::detail
