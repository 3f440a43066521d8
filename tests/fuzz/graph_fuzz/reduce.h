#pragma once
#include "graphs/graph.h"

#include <functional>

namespace graphs {

/// A graph that `fails` as the given one does, with as few outputs, operators, elements, attributes and
/// values that stand out as steps find that each keep it failing: outputs are left out, nodes replaced by
/// variables that hold their values or by one of their inputs, axes made shorter, values replaced by 1.
/// `fails` must hold for `graph`, and say no to graphs that are not valid.
Graph reduce(Graph graph, const std::function<bool(const Graph&)>& fails);

}  // namespace graphs
