// The runner of the CPU.
#pragma once
#include "runtime/host_memory.h"
#include "runtime/kernel.h"
#include "runtime/runner.h"
#include "runtime/workspace.h"

#include <kiln/profile.h>

#include <memory>
#include <span>
#include <vector>

namespace kiln {

/// Runs kernels as functions of the process, on the caller's thread and on workers. A call returns when its
/// last kernel is done.
class CpuRunner final : public Runner {
 public:
  /// Throws the errors of `load` and of LinkedPlan.
  CpuRunner(ExecutablePlan plan, const LoadKernel& load);

  void run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
           CallAddresses& addresses) const override;
  void run_body(std::byte* const* operands, std::byte* arena, const RandomState& random) const override;
  std::unique_ptr<RepeatedRun> repeat() const override;

 private:
  /// The scratch memory that the launches of a call share. It is allocated before the first of them: a step
  /// that follows a write to an input cannot fail for want of memory.
  struct Workspace {
    int threads;  // that the memory was counted for; 0: there is none
    Arena<HostMemory> scratch;
  };
  Workspace make_workspace(std::span<const Launch> launches) const;
  void launch(const Launch& l, std::byte* const* bases, void** operands, const Workspace& workspace) const;
  void run_steps(CallAddresses& addresses) const;
  void run_timed(Profile::Record& profile, std::byte* const* bases, void** operands,
                 const Workspace& workspace) const;
  void run_launches(std::span<const Launch> launches, std::byte* const* bases) const override;

  std::vector<std::shared_ptr<const Kernel>> kernels_;  // by their index in the plan
  std::vector<KernelFn> entries_;                       // likewise
};

}  // namespace kiln
