// Loops and branches of nodes, run step by step.
#pragma once
#include "ir/graph.h"

#include <kiln/tensor.h>

#include <cstdint>
#include <source_location>
#include <vector>

/// Loops and branches that were recorded as nodes, step by step.
namespace kiln::detail {

/// The results of a loop or branch over subgraphs, as a program computes them that calls F::contrib on
/// arrays. The steps that run are calls, each with an entry on the tape where calls are recorded. Both give
/// the same bits.
std::vector<Tensor> run_steps(const ir::Node& node, const std::vector<Tensor>& inputs,
                              std::source_location where);

}  // namespace kiln::detail
