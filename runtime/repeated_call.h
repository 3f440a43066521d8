#pragma once
#include "runtime/executable.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace kiln {

/// A call that a program runs again and again (kiln/bound_call.h). On an accelerator its kernels and copies
/// are graphs of the device, which are enqueued as one: they are made at the first run, and made again once
/// two runs in a row have the same other addresses. Steps that read values on the host (loops, branches,
/// checks) run between two graphs. The memory of temporaries belongs to the graphs from run to run.
///
/// On the CPU a run is Executable::run. So it is wherever each step has to be seen: in a Profile, and where
/// each kernel is waited for (KILN_CUDA_SYNC).
///
/// `executable` outlives it. Thread rule: one thread at a time.
class RepeatedCall {
 public:
  explicit RepeatedCall(const Executable& executable);
  ~RepeatedCall();
  RepeatedCall(const RepeatedCall&) = delete;

  /// As Executable::run.
  void run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
           Executable::Addresses& addresses);

 private:
  struct Recording;
  bool repeats(std::span<std::byte* const> given);

  const Executable& executable_;
  std::vector<std::byte*> last_;  // the addresses of the last run: inputs, results, constants
  std::unique_ptr<Recording> recording_;
};

}  // namespace kiln
