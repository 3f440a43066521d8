#pragma once
#include "ir/graph.h"

#include <kiln/tensor.h>

#include <cstdint>
#include <source_location>
#include <vector>

/// Loops and branches that were recorded as nodes, step by step.
namespace kiln::detail {

/// Whether the node is a loop or branch over subgraphs.
bool is_control_flow(const ir::Node& node);

/// The results of such a node, computed as a program computes them that calls F::contrib on arrays: what runs
/// of its bodies are calls, each with an entry on the tape where calls are recorded. Both give the same bits.
std::vector<Tensor> run_steps(const ir::Node& node, const std::vector<Tensor>& inputs,
                              std::source_location where);

/// The most entries that the node has on the tape when it is run so, and 1 for any other node.
std::uint64_t most_entries(const ir::Node& node);

}  // namespace kiln::detail
