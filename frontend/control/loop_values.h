// The values of a loop: rows of its data, states, and results as one list.
#pragma once
#include <kiln/control_flow.h>

#include <source_location>

namespace kiln {

using LoopResults = struct F::contrib::Results;

namespace detail {

/// The shape of one step's slice of data.
Shape row_shape(const Shape& stacked);
/// Throws unless the data of a foreach has one number of steps along the first axis, as far as shapes are
/// known.
void check_data(const F::Tensors& data, std::source_location where);
/// Throws unless the states after a step have the number, shapes and dtypes of the states before it. `what`
/// names them in the error.
void check_states(const F::Tensors& before, const F::Tensors& after, const char* what,
                  std::source_location where);

/// Outputs and states as the results of one node: outputs first.
F::Tensors joined(const LoopResults& r);
/// The reverse; `outputs` is the number of outputs.
LoopResults parted(F::Tensors all, std::size_t outputs);

}  // namespace detail
}  // namespace kiln
