#pragma once
#include "codegen/driver/compile.h"
#include "ir/step_graph.h"

#include <kiln/recompute.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

/// The code of a recorded call: the two entries of one joint function (ir/build.h), which passes/joint.h cut.
/// A call runs the forward entry, and keeps the saved values until a backward pass runs the backward entry.
/// Immutable but for the backward code, which is compiled at first use. Any thread may use it.
class JointCode {
 public:
  /// A value that the forward entry saves, at `offset` bytes in the memory of all.
  struct Saved {
    TensorType type;
    std::size_t offset;
  };

  JointCode(std::shared_ptr<const Executable> forward, std::string backward, const CompileOptions& options);
  JointCode(const JointCode&) = delete;

  /// From the graph's inputs to its outputs, then the saved values.
  const Executable& forward() const { return *forward_; }
  /// From `inputs` and `outputs` of the graph, the saved values, the heads, and those running sums that the
  /// call has, to the sums that get a term. `running`: by sum, whether there is one.
  std::shared_ptr<const Executable> backward(const std::vector<bool>& running) const;
  /// The same, compiled anew; `options` receive its stages.
  std::shared_ptr<const Executable> compile_backward(const std::vector<bool>& running,
                                                     const CompileOptions& options) const;

  std::vector<std::int64_t> inputs, outputs;
  std::vector<Saved> saved;
  std::size_t saved_bytes = 0;
  std::vector<bool> sums;  ///< by sum: whether it gets a term

 private:
  std::shared_ptr<const Executable> forward_;
  std::string backward_;  // bytecode of the backward entry, which takes all running sums
  CompileOptions options_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::vector<bool>, std::shared_ptr<const Executable>>> compiled_;
};

/// Compiles the forward entry of the graph with the gradients of `request`, whose heads are the graph's
/// outputs, then its writes; `request.running` does not matter. Throws kiln::Error.
std::shared_ptr<const JointCode> compile_joint(const ir::Graph& graph, const ir::GradientRequest& request,
                                               Recompute policy,
                                               const CompileOptions& options = default_options());

/// Compiles a training step (ir/build.h) as one executable. Throws kiln::Error.
std::shared_ptr<const Executable> compile_step(const ir::StepGraph& step,
                                               const CompileOptions& options = default_options());

}  // namespace kiln
