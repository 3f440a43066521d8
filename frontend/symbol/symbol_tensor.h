// Tensors that stand for entries of a composed graph.
#pragma once
#include "frontend/tensor/array.h"

namespace kiln::detail {

/// A traced tensor for an entry of a composed graph, without shape and trace.
inline Tensor symbol_tensor(ir::Entry entry, DType dtype = DType::f32) {
  return TensorAccess::make(std::make_shared<Array>(nullptr, std::move(entry), Shape(), false), 0, Shape(),
                            dtype);
}

}  // namespace kiln::detail
