#pragma once
#include <cstdint>
#include <vector>

namespace kiln::ops {

/// The attributes of the operator `_function`, whose subgraphs are the two methods of an autograd::Function.
struct FunctionPlaces {
  /// The outputs, and behind them the hidden ones: values of forward that backward reads.
  std::int64_t outputs = 0, saved = 0;
  /// By variable of forward: the input of the node.
  std::vector<std::int64_t> forward;
  /// By variable of backward: the place in the list of all outputs, hidden ones too, then the gradients of
  /// the outputs, then the inputs of the node.
  std::vector<std::int64_t> backward;
  /// By input of forward(), the first ones of the node: the output of backward that is its gradient, or -1.
  std::vector<std::int64_t> gradients;
};

}  // namespace kiln::ops
