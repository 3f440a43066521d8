// Calls that a program runs again and again.
#pragma once
#include "runtime/executable.h"

#include <memory>
#include <span>

namespace kiln {

/// A call that a program runs again and again (kiln/bound_call.h). On an accelerator it is graphs of the
/// device (queue_graphs.h), on the CPU it has memory of its own (cpu_repeated_run.h).
///
/// `executable` outlives it. Thread rule: one thread at a time.
class RepeatedCall {
 public:
  explicit RepeatedCall(const Executable& executable) : run_(executable.runner().repeat()) {}

  /// As Executable::run, which throws for a check that failed.
  FailedCheck run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
                  CallAddresses& addresses) {
    return run_->run(inputs, outputs, random, addresses);
  }
  /// As RepeatedRun::warm_up.
  void warm_up(std::span<const Argument> inputs, std::span<void* const> outputs, CallAddresses& addresses) {
    run_->warm_up(inputs, outputs, addresses);
  }

 private:
  std::unique_ptr<RepeatedRun> run_;
};

}  // namespace kiln
