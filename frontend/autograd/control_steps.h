// Loops and branches of nodes, run step by step.
#pragma once
#include "ir/graph.h"

#include <kiln/tensor.h>

#include <cstdint>
#include <source_location>
#include <vector>

/// Loops and branches that were recorded as nodes, step by step.
namespace kiln::detail {

/// The results of a loop or branch node, run as an eager program's F::contrib call on arrays. Each operator
/// of a step that runs is a call, with an entry on the tape where calls are recorded. The bits equal the
/// node's.
std::vector<Tensor> run_steps(const ir::Node& node, const std::vector<Tensor>& inputs,
                              std::source_location where);

}  // namespace kiln::detail
