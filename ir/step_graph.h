// A graph, its gradients and the update of its inputs as one graph.
#pragma once
#include "ir/differentiate.h"
#include "ir/graph.h"

#include <cstddef>
#include <vector>

namespace kiln::ir {

/// A training step: a graph, its gradients, and a graph that updates some of its inputs by them.
struct StepGraph {
  /// Where an input of the update comes from: an input of the graph, the gradient of one, or the caller.
  struct Source {
    enum class Of { input, gradient, caller } of = Of::caller;
    std::size_t index = 0;  ///< input of the graph; number of the sum
  };
  Graph graph;
  GradientRequest request;      ///< heads are ones; no sum is running
  Graph update;                 ///< its results are its writes
  std::vector<Source> sources;  ///< by input of `update`
};

}  // namespace kiln::ir
