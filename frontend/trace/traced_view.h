// The values of traced arrays and of their views.
#pragma once
#include "frontend/tensor/array.h"

#include <cstdint>
#include <source_location>

namespace kiln {

/// The current value of a traced tensor. For a view, records the nodes that extract it from its array. Throws
/// for a concrete array (see fail_mixed()).
ir::Entry value_of(const Tensor& t, std::source_location where);

/// A handle of a traced tensor that is a separate value in scopes of `call` (frontend/tensor/view_scope.h).
Tensor own_value(const Tensor& t, const ir::Entry& value, std::uint64_t call);

}  // namespace kiln
