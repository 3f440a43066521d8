// Random graphs.
#pragma once
#include "graphs/graph.h"

namespace graphs {

/// A random graph, fixed by its seed. It has operators of the sample table among pointwise ones, reductions
/// and changes of shape, on values of several dtypes. It has shared subexpressions, nodes of several outputs
/// and auxiliary states, for training or not. It is built by running it: every node took its inputs eagerly.
/// With `control_flow`, loops and branches are as frequent as other operators.
Graph generate(std::uint64_t seed, bool control_flow = false);

}  // namespace graphs
