// Repeated calls as graphs of a device.
#pragma once
#include "runtime/queue_runner.h"

#include <memory>
#include <span>
#include <vector>

namespace kiln {

/// A repeated call on a device with a queue. Its kernels and copies are graphs of the device, each enqueued
/// at once. They are made at the first run, and made again once two runs in a row have the same other
/// addresses. Steps that read values on the host (loops, branches, checks) run between two graphs. The memory
/// of temporaries belongs to the graphs from run to run.
///
/// A run is QueueRunner::run if each step has to be seen: in a Profile, and if each kernel is waited for
/// (KILN_CUDA_SYNC).
class QueueGraphs final : public RepeatedRun {
 public:
  /// `runner` outlives it.
  explicit QueueGraphs(const QueueRunner& runner);
  ~QueueGraphs() override;
  FailedCheck run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
                  CallAddresses& addresses) override;
  /// Makes the graphs, and runs nothing.
  void warm_up(std::span<const Argument> inputs, std::span<void* const> outputs,
               CallAddresses& addresses) override;

 private:
  class Recording;
  bool repeats(std::span<std::byte* const> given);
  void record(std::span<std::byte* const> given, std::span<const Argument> inputs);

  const QueueRunner& runner_;
  std::vector<std::byte*> last_;  // the addresses of the last run: inputs, results, constants
  std::unique_ptr<Recording> recording_;
};

}  // namespace kiln
