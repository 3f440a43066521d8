#pragma once
#include "ir/graph.h"

namespace kiln::ir {

/// What the node's operator makes of its inputs: the counted outputs, then the new contents of its auxiliary
/// inputs (see OpDef::compose). Throws for an operator that Kiln does not have.
std::vector<Value> compose(Primitives& p, const Node& node, Args in);

/// The outputs of a body for these values of its variables. Errors name the node. Throws where a node updates
/// an auxiliary state: a body has no way to hand out what it writes.
std::vector<Value> compose(Primitives& p, const Subgraph& body, Args in);

/// Throws `e` again, with the node's line, operator and name in front of its text.
[[noreturn]] void rethrow_at(const Node& node, const Error& e);

}  // namespace kiln::ir
