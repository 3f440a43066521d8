// The runner of devices with a queue.
#pragma once
#include "runtime/accelerator.h"
#include "runtime/runner.h"
#include "runtime/workspace.h"

#include <kiln/profile.h>

#include <memory>
#include <span>
#include <vector>

namespace kiln {

/// Enqueues kernels on a device with separate memory. Addresses are the device's; a call may return before
/// the device is done.
class QueueRunner final : public Runner {
 public:
  /// The device loads kernels itself. Throws its errors, and LinkedPlan's.
  QueueRunner(ExecutablePlan plan, Device device, Accelerator& accelerator);

  FailedCheck run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
                  CallAddresses& addresses) const override;
  FailedCheck run_body(std::byte* const* operands, std::byte* arena, const RandomState& random,
                       StepMemory memory) const override;
  /// As graphs of the device (queue_graphs.h).
  std::unique_ptr<RepeatedRun> repeat() const override;

  // The parts of a call that graphs are made of (queue_graphs.h).
  Accelerator& accelerator() const { return accelerator_; }
  const Overlap& overlap() const { return overlap_; }
  using Runner::set_arguments;
  /// The steps of a call whose arguments are set; `base` is returned by set_arguments().
  FailedCheck run_with(std::span<const Argument> inputs, std::byte** base, const RandomState& random,
                       CallAddresses& addresses) const;
  /// For all iterations of a launch. It is allocated before the first launch of a call, as on the CPU.
  Arena<Accelerator> make_scratch(std::span<const Launch> launches) const;
  /// Adds a kernel to the accelerator, or to a graph of it; runs a step of the host at once. `tables`: of
  /// linked().table_slots().
  FailedCheck launch(const Launch& l, std::byte* const* bases, void** operands, TableSlot* tables,
                     std::byte* scratch, WorkQueue& queue) const;

 private:
  FailedCheck run_steps(std::byte* const* bases, void** operands, TableSlot* tables) const;
  FailedCheck run_timed(Profile::Record& profile, std::byte* const* bases, void** operands, TableSlot* tables,
                        std::byte* scratch) const;
  void run_launches(std::span<const Launch> launches, std::byte* const* bases) const override;
  /// A copy of the random state on the device, if a kernel reads it.
  Buffer random_on_device(const RandomState& random) const;

  Accelerator& accelerator_;
  std::vector<std::shared_ptr<void>> kernels_;  // by their index in the plan
};

}  // namespace kiln
