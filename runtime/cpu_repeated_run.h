// Repeated calls on the CPU, with memory of their own.
#pragma once
#include "runtime/cpu_runner.h"

#include <optional>
#include <span>

namespace kiln {

/// A repeated call on the CPU. It keeps the memory of its temporaries and the packed weights that it reads: a
/// run takes nothing from the pool, and waits for neither lock nor system. Memory is allocated again by a run
/// for more threads than before, and by a run whose parameters have been written.
class CpuRepeatedRun final : public RepeatedRun {
 public:
  /// Allocates temporaries for num_threads(). `runner` outlives it. Throws for a lack of memory.
  explicit CpuRepeatedRun(const CpuRunner& runner);
  FailedCheck run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
                  CallAddresses& addresses) override;
  /// Runs the steps, with copies in the place of outputs and of inputs that steps write. The values of inputs
  /// do not matter: a check that fails is no error here.
  void warm_up(std::span<const Argument> inputs, std::span<void* const> outputs,
               CallAddresses& addresses) override;

 private:
  StepMemory step_memory(CallAddresses& addresses);

  const CpuRunner& runner_;
  const Arena<HostMemory> arena_;
  std::optional<Arena<HostMemory>> scratch_;
  int threads_ = 0;  // for which scratch_ has room
  PrepackedConstants::Held prepacked_;
};

}  // namespace kiln
