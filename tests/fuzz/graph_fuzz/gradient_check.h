#pragma once
#include "graphs/graph.h"

#include <map>
#include <optional>
#include <string>

namespace graphs {

/// What gradient checks came to: how often each thing that a program may do was part of a compared graph.
using Coverage = std::map<std::string, std::uint64_t>;

/// How the gradients of a graph as a block differ when it is hybridized; nothing when they do not. The
/// program around the block follows from the graph's seed: which inputs want gradients, and whether these are
/// written or added; a block that is called once or twice, or split among two calls; values that are used
/// before and after it; writes through views of its results; heads with gradients of their own; a second
/// backward pass; one instruction set of the machine and one number of threads for the hybridized run, which
/// is on `device`.
std::optional<std::string> gradient_difference(const Graph& graph, Coverage& coverage,
                                               kiln::Device device = {});

}  // namespace graphs
