// The facts about compiled code that gradients need.
#pragma once
#include "frontend/call/growing_list.h"
#include "ir/differentiate.h"
#include "ir/graph.h"

#include <kiln/precision.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace kiln::detail {

/// Whether the node is a loop or branch over subgraphs.
bool is_control_flow(const ir::Node& node);

/// The maximum number of tape entries that such a node has when it is run step by step; 1 for any other node.
std::uint64_t max_entries(const ir::Node& node);

/// The facts about one piece of code that backward passes need: the graph that it computes, and the values
/// that the gradients read. Shared by all recorded calls of the code. Immutable except for remembered
/// answers; any thread may use it.
class GradientCode {
 public:
  /// `body` has types everywhere. `train` and `precision` are the modes it was compiled for.
  GradientCode(ir::SubgraphPtr body, bool train, Precision precision);

  const ir::SubgraphPtr& body() const { return body_; }
  /// The value that an output returns. One value may be several outputs, or an input: as in a program that
  /// runs step by step, the gradients of all of them add to one sum.
  struct Output {
    std::size_t first;                 ///< the first output that is the value
    std::optional<std::size_t> input;  ///< the input of the body that is the value
    bool is_own(std::size_t number) const { return first == number && !input; }
  };
  const Output& output(std::size_t number) const { return outputs_[number]; }
  Precision precision() const { return precision_; }
  /// The most entries that a call has on the tape once it is expanded (expand.h).
  std::uint64_t entries() const { return entries_; }
  /// Whether derivatives of its gradients need an entry for each node. This holds for a block with several
  /// nodes, or with one that reads a value twice; for a loop or branch; and for an autograd::Function.
  bool expands() const { return expands_; }
  /// The values that the gradients of a request read.
  struct Known {
    ir::GradientRequest request;
    ir::GradientUses uses;
  };
  const Known& known(const ir::GradientRequest& request) const;
  /// The request of a recorded call: the heads are all values of floating outputs, no sum has terms yet.
  /// `sums`: by input, as GradientRequest::sums.
  const Known& recorded(std::span<const std::int64_t> sums) const;

 private:
  ir::SubgraphPtr body_;
  std::vector<Output> outputs_;
  std::uint64_t entries_ = 0;
  bool train_, expands_ = false;
  Precision precision_;
  mutable GrowingList<Known> known_, recorded_;
};

}  // namespace kiln::detail
