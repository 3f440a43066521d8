// The interface of runners, one for each kind of device.
#pragma once
#include "runtime/call_arguments.h"
#include "runtime/fail.h"
#include "runtime/linked_plan.h"
#include "runtime/overlap.h"
#include "runtime/prepacked_constants.h"

#include <kiln/device.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace kiln {

/// Runs a call again and again (repeated_call.h). Thread rule: one thread at a time.
class RepeatedRun {
 public:
  virtual ~RepeatedRun() = default;
  /// As Runner::run.
  virtual FailedCheck run(std::span<const Argument> inputs, std::span<void* const> outputs,
                          const RandomState& random, CallAddresses& addresses) = 0;
  /// Makes all that the next run on this thread would make, and leaves inputs and outputs as they are.
  virtual void warm_up(std::span<const Argument> inputs, std::span<void* const> outputs,
                       CallAddresses& addresses) = 0;
};

/// Runs the calls of a plan on one kind of device: a subclass for each. Immutable; any number of threads may
/// call run at once, each with separate arguments and outputs.
class Runner {
 public:
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  const LinkedPlan& linked() const { return linked_; }
  /// The device of its kernels, arguments and results.
  Device device() const { return device_; }

  /// As Executable::run, which throws for a check that failed.
  virtual FailedCheck run(std::span<const Argument> inputs, std::span<void* const> outputs,
                          const RandomState& random, CallAddresses& addresses) const = 0;
  /// Runs as the body of a loop or branch: `operands` are the addresses of the inputs, then of the outputs.
  /// The arena has room for plan().arena_bytes, `memory` for linked().body_slots() addresses and
  /// scratch_bytes(). The caller has set the floating-point environment.
  virtual FailedCheck run_body(std::byte* const* operands, std::byte* arena, const RandomState& random,
                               StepMemory memory) const = 0;
  /// As Control::scratch_bytes, of the steps of a call.
  virtual std::int64_t scratch_bytes(int /*threads*/) const { return 0; }
  /// It refers to this.
  virtual std::unique_ptr<RepeatedRun> repeat() const = 0;

 protected:
  Runner(LinkedPlan linked, Device device)
      : linked_(std::move(linked)),
        constants_(linked_.plan().constants),
        device_(device),
        prepacked_(linked_, device, [this](auto launches, auto* bases) { run_launches(launches, bases); }),
        overlap_(linked_, prepacked_, device) {}

  const ExecutablePlan& plan() const { return linked_.plan(); }
  /// Runs the launches of a prepacked constant.
  virtual void run_launches(std::span<const Launch> launches, std::byte* const* bases) const = 0;
  /// Sets the bases before the arena's, and returns the place of that one. `prepacked`: References or Held of
  /// PrepackedConstants.
  template <class Prepacked>
  std::byte** set_arguments(std::span<const Argument> inputs, std::span<void* const> outputs,
                            CallAddresses& addresses, Prepacked& prepacked) const;
  /// The same for a body.
  std::byte** set_body_arguments(std::byte* const* operands, std::byte** bases) const;

  const LinkedPlan linked_;
  std::vector<std::shared_ptr<const Buffer>> constants_;  // on the device
  const Device device_;
  const PrepackedConstants prepacked_;
  const Overlap overlap_;
};

template <class Prepacked>
std::byte** Runner::set_arguments(std::span<const Argument> inputs, std::span<void* const> outputs,
                                  CallAddresses& addresses, Prepacked& prepacked) const {
  const ExecutablePlan& p = plan();
  if (inputs.size() != p.inputs.size() || outputs.size() != p.outputs.size())
    fail_internal("{} takes {} inputs and {} outputs, got {} and {}", p.name, p.inputs.size(),
                  p.outputs.size(), inputs.size(), outputs.size());
  std::byte** const bases = addresses.bases.data();
  std::byte** base = bases;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    *base++ = prepacked_.packed_only(i) ? nullptr : inputs[i].storage->data() + inputs[i].offset;
  for (void* o : outputs) *base++ = static_cast<std::byte*>(o);
  for (const auto& c : constants_) *base++ = c->data();
  if (!prepacked_.empty()) base = prepacked_.gather(inputs, bases, prepacked);
  if (p.saved_bytes > 0) *base++ = addresses.saved;
  return base;
}

inline std::byte** Runner::set_body_arguments(std::byte* const* operands, std::byte** bases) const {
  const std::size_t count = plan().inputs.size() + plan().outputs.size();
  std::byte** base = std::copy_n(operands, count, bases);
  for (const auto& c : constants_) *base++ = c->data();
  return base;
}

}  // namespace kiln
