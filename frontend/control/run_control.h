// Loops and branches that run step by step.
#pragma once
#include "frontend/control/loop_values.h"

#include <cstdint>
#include <source_location>

namespace kiln {

/// On arrays, or in a trace with shapes. Each result is a separate value, neither an outer value nor another
/// result, as results of a node are. Results of run_while() and run_cond() depend on code that did not run,
/// too: control_flow.cpp records that afterwards.
LoopResults run_foreach(const F::contrib::StepBody& body, const F::Tensors& data, const F::Tensors& states,
                        std::source_location where);
LoopResults run_while(const F::contrib::Condition& condition, const F::contrib::LoopBody& body,
                      const F::Tensors& variables, std::int64_t max_iterations, std::source_location where);
F::Tensors run_cond(const Tensor& condition, const F::contrib::Branch& then,
                    const F::contrib::Branch& otherwise, std::source_location where);

}  // namespace kiln
