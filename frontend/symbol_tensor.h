#pragma once
#include "frontend/array.h"
#include "frontend/trace.h"

namespace kiln::detail {

/// A traced tensor of which no shape is known: what an entry of a composed graph looks like to
/// hybrid_forward.
inline Tensor symbol_tensor(ir::Entry entry, DType dtype = DType::f32) {
  return TensorAccess::make(std::make_shared<Array>(Trace::current(), std::move(entry), Shape(), false), 0,
                            Shape(), dtype);
}

}  // namespace kiln::detail
