// Executables: plans with their kernels loaded.
#pragma once
#include "runtime/kernel.h"
#include "runtime/plan.h"
#include "runtime/refinement.h"
#include "runtime/runner.h"

#include <kiln/device.h>
#include <kiln/export.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace kiln {

/// A plan with its kernels loaded: a runner for its device, and the executable that later replaces it.
/// Immutable; any number of threads may call run at once, each with separate arguments and outputs.
class KILN_API Executable {
 public:
  /// Throws the errors of `load`, and an internal error for a plan with an index out of range. A device that
  /// is no CPU loads kernels itself.
  Executable(ExecutablePlan plan, const LoadKernel& load, Device device = {});
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  const ExecutablePlan& plan() const { return runner_->linked().plan(); }
  const Runner& runner() const { return *runner_; }
  /// The device of its kernels, arguments and results.
  Device device() const { return runner_->device(); }

  /// Makes an executable that does the same faster: of the same plan with other kernels.
  using Refine = Refinement::Make;
  /// Call number `calls` + 1 makes it; this call and later ones run it. Set before the executable is
  /// published.
  void refine_after(std::int64_t calls, Refine refine) {
    refinement_ = std::make_unique<Refinement>(std::move(refine), calls, *this);
  }
  /// The executable for the next call; it lives as long as this. Counts the call. Any thread.
  const Executable& for_call() const { return refinement_ ? refinement_->next() : *this; }
  /// The executable for many calls.
  const Executable& refined() const { return refinement_ ? refinement_->made() : *this; }

  /// Runs the steps in order. Addresses are the device's; the call may return before the device is done.
  /// `outputs[i]` has room for outputs[i].bytes() bytes and overlaps no input. Inputs may overlap each other:
  /// steps read the old contents of all inputs. Sets the floating-point environment (round to nearest,
  /// subnormals kept) and restores the caller's.
  void run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
           CallAddresses& addresses) const {
    if (const FailedCheck failed = runner_->run(inputs, outputs, random, addresses)) [[unlikely]]
      failed.fail();
  }
  /// The same, with addresses made for this call.
  void run(std::span<const Argument> inputs, std::span<void* const> outputs,
           const RandomState& random) const {
    CallAddresses addresses(runner_->linked());
    run(inputs, outputs, random, addresses);
  }

 private:
  std::unique_ptr<const Runner> runner_;
  std::unique_ptr<Refinement> refinement_;  // null: this is as fast as it gets
};

}  // namespace kiln
