#pragma once
#include "ir/differentiate.h"
#include "ir/graph.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace kiln::detail {

/// What the backward passes of one piece of code need: the graph that the code computes, and which of its
/// values the gradients read. Shared by all recorded calls of the code. Immutable but for what it remembers;
/// any thread may use it.
class GradientCode {
 public:
  /// `body` has types everywhere. `train`: the mode it was compiled for.
  GradientCode(ir::SubgraphPtr body, bool train);

  const ir::SubgraphPtr& body() const { return body_; }
  /// Operators in the body.
  std::size_t node_count() const { return node_count_; }
  /// Whether derivatives of its gradients need an entry for each node (expand.h): of a block, and of an
  /// autograd::Function.
  bool expands() const { return expands_; }
  /// What the gradients of `request` read.
  ir::GradientUses uses(const ir::GradientRequest& request) const;
  /// A request with all floating outputs as heads.
  ir::GradientRequest all_heads(std::vector<std::int64_t> sums, std::size_t sum_count) const;

 private:
  ir::SubgraphPtr body_;
  std::size_t node_count_;
  bool train_, expands_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<ir::GradientRequest, ir::GradientUses>> known_;
};

}  // namespace kiln::detail
