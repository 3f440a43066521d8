// The first node whose value or gradient differs between two runs.
#pragma once
#include <kiln/model.h>

#include <map>
#include <optional>
#include <string>

namespace kiln::tool {

struct Difference {
  std::string name;      ///< of the output
  std::int64_t element;  ///< the first that differs; -1: the shapes differ
  Tensor expected, got;
};

/// A node on which `output` depends whose value differs between runs with `options` and with `reference`,
/// while its inputs are equal. Found by bisection: a few runs, each with the value of one more node as an
/// added output. Nothing if no node differs once its value is an output.
std::optional<Difference> first_differing_node(const Model& model,
                                               const std::map<std::string, Tensor>& inputs,
                                               RunOptions reference, RunOptions options,
                                               const std::string& output);

/// The same of gradients. From the value of the found node backwards, the gradients of inputs and parameters
/// differ; from the values of its inputs, they are equal. Each run ends at one node, whose value has
/// reproducible random numbers as its gradient. Difference::name is the node's; `array` the input or
/// parameter.
struct GradientDifference : Difference {
  std::string array;
};
std::optional<GradientDifference> first_differing_gradient(const Model& model,
                                                           const std::map<std::string, Tensor>& inputs,
                                                           RunOptions reference, RunOptions options,
                                                           const std::string& output);

}  // namespace kiln::tool
