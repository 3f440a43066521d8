// A trained network as a graph with values, and the layers in it that can compute in int8.
#pragma once
#include "ir/graph.h"

#include <kiln/block.h>

#include <map>
#include <source_location>
#include <string>
#include <vector>

namespace kiln::detail {

/// A trained network as a graph with values.
struct FloatNetwork {
  std::vector<ir::Entry> outputs;
  std::vector<std::string> inputs;           ///< variables, in the order of a call's tensors
  std::map<std::string, Tensor> parameters;  ///< the values of all other variables; the network's own arrays
};

/// The graph of `net` for inputs as these, its first batch on its device. Initialises deferred parameters.
/// Throws for parameters without values.
FloatNetwork float_network(const HybridBlock& net, const Tensors& batch, std::source_location where);

/// A dense layer or a convolution.
struct FloatLayer {
  ir::NodePtr node;
  std::string float_because;  ///< why it stays in floating point; empty: it can compute in int8
  const std::string& weight() const { return node->inputs[1].node->name; }
};

/// All dense layers and convolutions, in the graph's order, also the ones in bodies of loops and branches.
/// `exclude`: names of nodes, layers and blocks of `net`. Throws for a name of nothing.
std::vector<FloatLayer> float_layers(const HybridBlock& net, const FloatNetwork& network,
                                     const std::vector<std::string>& exclude);

}  // namespace kiln::detail
