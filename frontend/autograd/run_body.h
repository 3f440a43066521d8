// Subgraphs run node by node.
#pragma once
#include "ir/graph.h"

#include <kiln/tensor.h>

#include <functional>
#include <source_location>
#include <vector>

/// Subgraphs run node by node, in the modes of the thread.
namespace kiln::detail {

using RunNode = std::function<std::vector<Tensor>(const ir::Node& node, const std::vector<Tensor>& inputs)>;

/// The outputs of a subgraph for its inputs, which `run` computes node by node.
std::vector<Tensor> run_body(const ir::Subgraph& body, const std::vector<Tensor>& inputs, const RunNode& run);

/// A call of the node: of an operator, or of an autograd::Function.
std::vector<Tensor> run_node(const ir::Node& node, const std::vector<Tensor>& inputs,
                             std::source_location where);

}  // namespace kiln::detail
