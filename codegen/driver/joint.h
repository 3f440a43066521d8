// The code of recorded calls.
#pragma once
#include "codegen/driver/compile.h"
#include "ir/step_graph.h"

#include <kiln/recompute.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlir::func {
class FuncOp;
}

namespace kiln {

/// The purpose of compiling a part of joint code, "backward part". `because`: a clause, "this is the first
/// backward pass". Called on the thread that compiles, at that time.
using PartPurpose = std::function<CompilePurpose(std::string_view part, std::string_view because)>;

/// The code of a recorded call: the two entries of one joint function (ir/build.h), which passes/joint.h cut.
/// A call runs the forward entry, and keeps the saved part of the arena until a backward pass runs the
/// backward entry, which overwrites it. Immutable except for code that is compiled at first use. Any thread
/// may use it.
class JointCode {
 public:
  /// The two entries as bytecode. `forward_code` is the compiled forward entry, which prepacks no trained
  /// parameter. The backward one takes all running sums, and then `saved` values.
  struct Entries {
    std::shared_ptr<const Executable> forward_code;
    std::string forward, backward;
    std::size_t saved = 0, recomputed_bytes = 0;
  };
  JointCode(Entries entries, const CompileOptions& options, PartPurpose purpose);
  JointCode(const JointCode&) = delete;

  /// From the graph's inputs to its outputs and the saved values.
  const Executable& forward() const { return *entries_.forward_code; }
  /// Whether the trained parameters are the same as in the call before. `versions`: the sum of the versions
  /// of their arrays.
  bool parameters_stay(std::uint64_t versions) const {
    return !trained.empty() && versions_.exchange(versions, std::memory_order_relaxed) == versions;
  }
  /// As forward(), for parameters that stay: keeps prepacked constants of them. A step of training writes
  /// them, so that a prepacked constant would be used once. Compiled at its first use.
  const Executable& forward_prepacking() const;
  /// From `inputs` and `outputs` of the graph, the heads, the running sums of the call, and the saved values,
  /// to the sums that get a term. `running`: by sum, whether there is one.
  std::shared_ptr<const Executable> backward(const std::vector<bool>& running) const;

  Device device() const { return options_.device; }

  std::vector<std::int64_t> inputs, outputs;
  std::size_t saved_bytes;             ///< of both entries' plans
  std::size_t recomputed_bytes;        ///< of values that both entries compute
  std::vector<bool> sums;              ///< by sum: whether it gets a term
  std::vector<std::uint32_t> trained;  ///< inputs of the graph: parameters that want a gradient

 private:
  std::shared_ptr<const Executable> compile(const std::string& name, CompilePurpose purpose,
                                            const std::string& bytecode,
                                            const std::function<void(mlir::func::FuncOp)>& edit) const;

  Entries entries_;
  CompileOptions options_;
  PartPurpose purpose_;
  mutable std::atomic<std::uint64_t> versions_{0};  // of the last call; a sum of versions is not 0
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Executable> prepacking_;  // the forward entry that prepacks all parameters
  mutable std::vector<std::pair<std::vector<bool>, std::shared_ptr<const Executable>>> compiled_;
};

/// Compiles the forward entry of the graph with the gradients of `request`, whose heads are the graph's
/// outputs, then its writes; `request.running` does not matter. `because`: why, for `purpose`. The log has
/// the purpose of each part. Throws kiln::Error.
std::shared_ptr<const JointCode> compile_joint(const ir::Graph& graph, const ir::GradientRequest& request,
                                               Recompute policy, const CompileOptions& options,
                                               std::string_view because, const PartPurpose& purpose);

/// Compiles both entries up to their plans, the backward one for the running sums of `request`, for the texts
/// of the stages: for GPUs too.
void plan_joint(const ir::Graph& graph, const ir::GradientRequest& request, Recompute policy,
                const CompileOptions& options);

/// Compiles a training step (ir/build.h) as one executable. Throws kiln::Error.
std::shared_ptr<const Executable> compile_step(const ir::StepGraph& step,
                                               const CompileOptions& options = default_options());

}  // namespace kiln
