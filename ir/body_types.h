// The types of the nodes in the bodies of loops and branches.
#pragma once
#include "ir/graph.h"

#include <unordered_map>
#include <vector>

namespace kiln::ir {

/// By node or variable in the bodies of `node`, and in the bodies of their nodes: the types of its outputs. A
/// hidden output has the type of an empty TensorType. The types of the node's inputs must be known. Throws as
/// compose().
std::unordered_map<const Node*, std::vector<TensorType>> body_types(const Node& node, bool train);

}  // namespace kiln::ir
