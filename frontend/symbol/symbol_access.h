// Internal access to a Symbol.
#pragma once
#include "ir/graph.h"

#include <kiln/symbol.h>

#include <vector>

namespace kiln::detail {

/// Internal access to a Symbol: entries of the operator graph, and tensors without a trace.
struct SymbolAccess {
  static Symbol make(std::vector<ir::Entry> outputs);
  static std::vector<ir::Entry> entries(const Symbol& symbol);
  /// One traced tensor per output, without shapes and outside of any trace.
  /// Each call creates new ones: an in-place operator on a tensor does not change the symbol.
  static std::vector<Tensor> tensors(const Symbol& symbol);
};

}  // namespace kiln::detail
