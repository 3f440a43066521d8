// The composition of symbols without shapes.
#include "frontend/trace/symbol_trace.h"

#include "frontend/call/ended_value.h"

namespace kiln {

using detail::TensorAccess;

Tensor SymbolTrace::capture(const Tensor& concrete, const std::string& name, bool parameter,
                            const HiddenAttrs& hidden_attrs) {
  return captures_.take(*this, concrete, name, parameter, hidden_attrs);
}

Tensor SymbolTrace::resolve(const Tensor& t) {
  check_known(t, this, "the network uses", {});
  return TensorAccess::array(t)->traced() ? t : capture(t, "", /*parameter=*/false);
}

}  // namespace kiln
