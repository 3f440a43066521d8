// Loops and branches recorded as nodes.
#pragma once
#include "frontend/control/loop_values.h"

#include <cstdint>
#include <source_location>

/// Each function records its loop or branch as one node with subgraphs, in a trace or on Symbols.
namespace kiln {

/// Records the steps one by one where one node would give other values or gradients.
LoopResults record_foreach(const F::contrib::StepBody& body, const F::Tensors& data, const F::Tensors& states,
                           std::source_location where);
LoopResults record_while(const F::contrib::Condition& condition, const F::contrib::LoopBody& body,
                         const F::Tensors& variables, std::int64_t max_iterations,
                         std::source_location where);
F::Tensors record_cond(const Tensor& condition, const F::contrib::Branch& then,
                       const F::contrib::Branch& otherwise, std::source_location where);

}  // namespace kiln
