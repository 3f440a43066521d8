#pragma once
#include "frontend/tensor/array.h"

namespace kiln::detail {

/// A traced tensor of which no shape is known and that belongs to no trace: what an entry of a composed graph
/// looks like to hybrid_forward.
inline Tensor symbol_tensor(ir::Entry entry, DType dtype = DType::f32) {
  return TensorAccess::make(std::make_shared<Array>(nullptr, std::move(entry), Shape(), false), 0, Shape(),
                            dtype);
}

}  // namespace kiln::detail
