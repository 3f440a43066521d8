// Operator calls as nodes.
#pragma once
#include "frontend/call/op_call.h"

#include <vector>

namespace kiln {

/// Records the call as a node of this thread's trace, or as a Symbol outside of any. Returns the visible
/// outputs.
std::vector<Tensor> record_node(const OpCall& call);

}  // namespace kiln
