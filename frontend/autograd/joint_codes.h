// The joint codes of one recording.
#pragma once
#include "codegen/driver/joint.h"
#include "frontend/call/gradient_code.h"
#include "ir/graph.h"
#include "runtime/fork_gate.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace kiln::detail {

/// The compiled pairs of forward and backward code of one recording: one pair for each set of gradients that
/// its recorded calls want. The forward code saves values by the outputs that get a gradient, which only the
/// later backward pass determines. A call therefore expects the outputs of the last backward pass; the first
/// call expects all. A backward pass that finds other outputs recomputes the call (`_vjp`). Any thread.
class JointCodes {
 public:
  /// Arguments of compile_joint(). `options`: their purpose has the inputs of the recording.
  JointCodes(ir::Graph graph, Recompute policy, const CompileOptions& options);

  /// A compiled pair and the outputs that get a gradient in it. Stays where it is.
  struct Pair {
    ir::GradientRequest request;
    std::shared_ptr<const JointCode> code;
    /// The values of a call that `code` or the graph's gradients read.
    ir::GradientUses uses;
  };
  /// For a recorded call. Compiled at its first use.
  const Pair& expected(const GradientCode::Known& recorded, std::source_location where);
  /// Notes that a backward pass of such a call found gradients of these outputs (the request's heads).
  void found(const ir::GradientRequest& request);
  /// The pair compiled last; null if there is none.
  std::shared_ptr<const JointCode> latest() const;

 private:
  struct Known {
    std::vector<std::int64_t> sums;
    std::vector<bool> heads;  ///< of the last backward pass; at first, all that depend on an input
    std::deque<Pair> pairs;
  };
  Known* find(const std::vector<std::int64_t>& sums);
  /// Why calls that want `sums`, which are not known, need code: a clause.
  std::string reason(const std::vector<std::int64_t>& sums) const;

  ir::Graph graph_;
  Recompute policy_;
  CompileOptions options_;
  PartPurpose purpose_;
  mutable Mutex mutex_;
  std::shared_ptr<const JointCode> latest_;
  std::deque<Known> known_;
};

}  // namespace kiln::detail
