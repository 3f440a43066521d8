// Checks of graphs as blocks.
#pragma once
#include "graphs/graph.h"

#include <optional>
#include <string>

namespace graphs {

/// How a graph as a SymbolBlock differs when it is hybridized; nothing when it does not. Graphs for training
/// and with auxiliary states are passed over: a block's own would have to be set.
std::optional<std::string> block_difference(const Graph& graph);

/// The same for a block that writes through views of its inputs, calls the graph, and writes through views of
/// its results. The graph's seed and shapes determine the writes.
std::optional<std::string> writing_difference(const Graph& graph);

}  // namespace graphs
