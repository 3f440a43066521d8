#pragma once
#include "ir/graph.h"

#include <kiln/symbol.h>

#include <vector>

namespace kiln::detail {

/// The library's own door into a Symbol: entries of the operator graph, and tensors that belong to no trace.
struct SymbolAccess {
  static Symbol make(std::vector<ir::Entry> outputs);
  static std::vector<ir::Entry> entries(const Symbol& symbol);
  /// One traced tensor per output, without shapes and outside of any trace.
  /// Each call makes new ones: an in-place operator on a tensor does not change the symbol.
  static std::vector<Tensor> tensors(const Symbol& symbol);
};

}  // namespace kiln::detail
