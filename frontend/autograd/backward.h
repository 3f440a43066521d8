// The backward pass over the tape.
#pragma once
#include "frontend/autograd/tape.h"

#include <source_location>
#include <span>
#include <vector>

namespace kiln::detail {

struct BackwardPass {
  bool retain = false;
  bool create_graph = false;
};

/// Passes the tape from `heads`. Without `variables`, writes the gradients of all arrays with a gradient
/// attached and returns nothing; else returns the gradients of `variables` and writes none.
std::vector<Tensor> run_backward(std::span<const Tensor> heads, std::span<const Tensor> head_gradients,
                                 const std::vector<Tensor>* variables, const BackwardPass& pass,
                                 std::source_location where);

}  // namespace kiln::detail
