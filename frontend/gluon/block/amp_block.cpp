// amp::convert_hybrid_block(): a block in mixed precision.
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/block/exported_network.h"
#include "frontend/symbol/amp_symbol.h"
#include "frontend/tensor/text.h"
#include "runtime/dynamic_type.h"
#include "runtime/fail.h"
#include "runtime/messages.h"

#include <kiln/amp.h>

#include <typeinfo>

namespace kiln {
namespace {

constexpr std::string_view convert_function = "amp::convert_hybrid_block()";

/// A network before its conversion.
struct FloatGraph {
  Symbol symbol;
  std::vector<std::string> inputs;
  std::vector<NamedArray> parameters;
};

FloatGraph float_graph_of(const HybridBlock& block) {
  const std::type_info* const type = dynamic_type(block);
  if (type && *type == typeid(SymbolBlock)) {
    const auto& own = static_cast<const SymbolBlock&>(block);
    FloatGraph out{own.symbol(), own.input_names(), {}};
    for (const Parameter& p : own.collect_params())
      out.parameters.push_back({p.name(), p.is_initialized() ? p.data({}) : Tensor()});
    return out;
  }
  const auto latest = detail::BlockAccess::latest(block);
  if (!latest)
    fail(Mistake::not_hybridized,
         "{} converts the graph that a call recorded, and {} has recorded none: call hybridize() and then "
         "the block "
         "on a tensor, at least once",
         convert_function, block.name());
  const std::string graph = "The mixed-precision network of " + block.name();
  detail::ExportedNetwork files = detail::exported_network(block, *latest, graph, {});
  return {Symbol::load_json(files.symbol, graph, {}), std::move(files.inputs), std::move(files.arrays)};
}

}  // namespace

SymbolBlock amp::convert_hybrid_block(const HybridBlock& block, const ConvertOptions& options,
                                      std::source_location where) {
  return at_line(where, [&] {
    require_no_data_names(options, convert_function);
    FloatGraph network = float_graph_of(block);
    for (const NamedArray& p : network.parameters)
      if (!p.array.defined())
        fail("{}: the parameter '{}' has no values: call initialize() and then the block", convert_function,
             detail::name_without_kind(p.name));
    const Symbol converted = with_amp_casts(network.symbol, options, network.inputs, convert_function);
    std::vector<Symbol> inputs;
    for (const std::string& name : network.inputs) inputs.push_back(sym::var(name));
    SymbolBlock out(converted, inputs);
    const ParameterDict parameters = out.params();
    for (const NamedArray& p : with_amp_dtypes(converted, std::move(network.parameters)))
      if (const std::string name = detail::name_without_kind(p.name); parameters.contains(name))
        detail::ParameterAccess::give(parameters[name], p.array, p.array.device());
    return out;
  });
}

}  // namespace kiln
