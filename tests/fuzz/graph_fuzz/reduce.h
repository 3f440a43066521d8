// Reduction of failing graphs.
#pragma once
#include "graphs/graph.h"

#include <functional>

namespace graphs {

/// A smaller graph that `fails` as the given one does. Steps leave out outputs, replace nodes by variables
/// that hold their values or by one of their inputs, shorten axes, drop attributes and replace values by 1. A
/// step is kept if the graph still fails. `fails` must hold for `graph`, and say no to graphs that are not
/// valid.
Graph reduce(Graph graph, const std::function<bool(const Graph&)>& fails);

}  // namespace graphs
