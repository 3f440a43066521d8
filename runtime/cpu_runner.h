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

  FailedCheck run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
                  CallAddresses& addresses) const override;
  FailedCheck run_body(std::byte* const* operands, std::byte* arena, const RandomState& random,
                       StepMemory memory) const override;
  std::int64_t scratch_bytes(int threads) const override { return scratch_of(linked_.launches(), threads); }
  /// With memory of its own (cpu_repeated_run.h).
  std::unique_ptr<RepeatedRun> repeat() const override;

  // The parts of a call that a repeated call is made of.
  using Runner::set_arguments;
  /// The steps of a call whose arguments are set, and the writes to its inputs; `base` is returned by
  /// set_arguments().
  FailedCheck run_with(std::span<const Argument> inputs, std::byte** base, std::byte* arena,
                       StepMemory memory, const RandomState& random, CallAddresses& addresses) const;
  FailedCheck run_steps(std::byte* const* bases, void** operands, const StepMemory& memory) const;

 private:
  /// The scratch memory that the steps of a call share. It is allocated before the first of them: a step that
  /// follows a write to an input cannot fail for want of memory.
  struct Workspace {
    int threads;  // that the memory was counted for; 0: there is none
    Arena<HostMemory> scratch;
  };
  /// For num_threads(), if the steps take scratch memory.
  Workspace make_workspace(std::span<const Launch> launches, bool takes_scratch) const;
  std::int64_t scratch_of(std::span<const Launch> launches, int threads) const;
  void launch(const Launch& l, std::byte* const* bases, void** operands, const StepMemory& memory) const;
  FailedCheck run_step(const Launch& l, std::byte* const* bases, void** operands,
                       const StepMemory& memory) const;
  FailedCheck run_timed(Profile::Record& profile, std::byte* const* bases, void** operands,
                        const StepMemory& memory) const;
  void run_launches(std::span<const Launch> launches, std::byte* const* bases) const override;

  std::vector<std::shared_ptr<const Kernel>> kernels_;  // by their index in the plan
  std::vector<KernelFn> entries_;                       // likewise
};

}  // namespace kiln
