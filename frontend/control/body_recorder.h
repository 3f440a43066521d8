// The recorder of the body of a loop or branch.
#pragma once
#include "frontend/trace/body_aliases.h"
#include "frontend/trace/body_trace.h"
#include "ir/graph.h"

#include <kiln/tensor.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln {

/// Records a body, and keeps which outside value feeds each of its variables.
class BodyRecorder {
 public:
  /// `where`: the program's call of the loop or branch.
  BodyRecorder(std::string subgraph_name, std::source_location where)
      : trace_(std::in_place, std::move(subgraph_name), where) {}

  bool shapes_known() const { return trace_->shapes_known(); }

  /// A variable for `outer` or, with `row`, for one step's slice of it.
  Tensor variable(const Tensor& outer, bool row);

  bool wrote_outside() const { return trace_->written_outside() != nullptr; }
  bool wrote_input() const { return trace_->wrote_input(); }
  bool updated_input() const { return trace_->updated_input(); }
  BodyAliases aliases(const std::vector<Tensor>& results, std::source_location where,
                      const std::vector<Tensor>& states = {});
  /// Ends the recording without a subgraph.
  void abandon() { trace_.reset(); }

  /// Finishes the body. A result is copied if it is a variable, a captured value or an earlier result: each
  /// head of a subgraph is a separate node, as in MXNet. If more than two results are one value, each of them
  /// among the first `stacked` is copied, as in a loop that runs step by step. The order of additions to its
  /// gradient depends on the copies.
  ir::SubgraphPtr finish(const std::vector<Tensor>& results, std::source_location where,
                         bool keep_unused = true, std::size_t stacked = 0);

  const ir::SubgraphPtr& subgraph() const { return subgraph_; }
  const std::vector<ir::NodePtr>& variables() const { return variables_; }
  /// The captured value that a variable stands for; undefined for one of variables().
  Tensor outside(const ir::NodePtr& variable) const;
  /// The position of a variable among the inputs of the subgraph.
  std::int64_t position(const ir::NodePtr& variable) const;

 private:
  std::optional<BodyTrace> trace_;
  ir::SubgraphPtr subgraph_;
  std::vector<ir::NodePtr> variables_;
  std::unordered_map<const ir::Node*, Tensor> outside_;
};

}  // namespace kiln
