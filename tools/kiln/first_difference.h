#pragma once
#include <kiln/model.h>

#include <map>
#include <optional>
#include <string>

namespace kiln::tool {

struct Difference {
  std::string name;      ///< of the output
  std::int64_t element;  ///< the first that differs; -1: the shapes do
  Tensor expected, got;
};

/// Of the nodes that `output` depends on, one whose value in a run with `options` differs from that with
/// `reference`, and none of whose own inputs does. Found by bisection: a few runs, each with the value of one
/// more node as an added output. Nothing when no node differs once its value is asked for.
std::optional<Difference> first_differing_node(const Model& model,
                                               const std::map<std::string, Tensor>& inputs,
                                               RunOptions reference, RunOptions options,
                                               const std::string& output);

}  // namespace kiln::tool
