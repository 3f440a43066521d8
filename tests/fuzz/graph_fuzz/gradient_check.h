// Checks of gradients of random graphs.
#pragma once
#include "graphs/graph.h"

#include <map>
#include <optional>
#include <string>

namespace graphs {

/// Counts of gradient checks: how often each feature of a program was part of a compared graph.
using Coverage = std::map<std::string, std::uint64_t>;

/// How the gradients of a graph as a block differ when it is hybridized; nothing when they do not. The
/// graph's seed determines the program around the block:
///
/// - which inputs want gradients, and whether these are written or added;
///
/// - whether the block is called once or twice, or split among two calls;
///
/// - values that are used before and after it, and writes through views of its results;
///
/// - heads with given gradients, and a second backward pass;
///
/// - one instruction set of the machine and one number of threads for the hybridized run, which is on
///   `device`.
std::optional<std::string> gradient_difference(const Graph& graph, Coverage& coverage,
                                               kiln::Device device = {});

}  // namespace graphs
