// A network applied to symbols, and the export of a hybridized one.
#include "frontend/block_state.h"
#include "frontend/cached_call.h"
#include "frontend/symbol_access.h"
#include "frontend/symbol_graph.h"
#include "frontend/trace.h"
#include "runtime/fail.h"

#include <kiln/io.h>
#include <kiln/symbol.h>

#include <algorithm>

namespace kiln {

Symbol Block::compose(std::span<const Symbol> inputs, Where where) {
  Tensors tensors;
  for (const Symbol& s : inputs)
    for (const Tensor& t : detail::SymbolAccess::tensors(s)) tensors.push_back(t);
  Trace trace(/*shapes_known=*/false);
  std::vector<ir::Entry> outputs;
  for (const Tensor& t : call(tensors, where)) {
    if (!t.defined()) fail("The block {} returned an undefined Tensor", name());
    outputs.push_back(detail::TensorAccess::array(trace.resolve(t))->value);
  }
  return detail::SymbolAccess::make(std::move(outputs));
}

Symbol Block::operator()(const Symbol& x, Where where) { return compose({&x, 1}, where); }

void HybridBlock::export_model(const std::string& path_prefix, int epoch) const {
  const auto latest = detail::BlockAccess::latest(*this);
  if (!latest)
    fail(
        "Please first call block.hybridize() and then run forward with this block at least once before "
        "calling "
        "export_model().");
  if (epoch < 0) fail("export_model() takes an epoch of 0 or more, not {}", epoch);
  const Symbol symbol = detail::SymbolAccess::make(latest->graph.outputs);
  const auto arguments = symbol.list_arguments(), states = symbol.list_auxiliary_states();
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<NamedArray> arrays;
  const auto add = [&](const std::string& name, const Tensor& values) {
    if (has(arguments, name))
      arrays.push_back({"arg:" + name, values});
    else if (has(states, name))
      arrays.push_back({"aux:" + name, values});
  };
  for (const Parameter& p : collect_params()) add(p.name(), p.is_initialized() ? p.data() : Tensor());
  // Other tensors that hybrid_forward used are parameters to whoever reads the file.
  for (const auto& c : latest->captures)
    if (!c.parameter) add(c.name, c.whole());
  symbol.save(path_prefix + "-symbol.json");
  save_arrays(fmt::format("{}-{:04}.params", path_prefix, epoch), arrays,
              {.numpy_mode = in_numpy_mode(file_order(latest->graph.outputs))});
}

}  // namespace kiln
