// One call of an executable.
#pragma once
#include "runtime/executable.h"
#include "runtime/repeated_call.h"
#include "runtime/small_array.h"

#include <cstddef>

namespace kiln {

/// One call of an executable, or of its refinement: its arguments and the memory of its results. Every call
/// on arrays goes through a frame (frontend/call/array_call.h). `executable`, the storages and the result
/// memory outlive the frame. Its run allocates nothing; a frame of usual size is on the stack. Thread rule:
/// one thread at a time.
class CallFrame {
 public:
  explicit CallFrame(const Executable& executable)
      : executable_(executable.for_call()),
        arguments_(executable_.plan().inputs.size()),
        results_(executable_.plan().outputs.size()),
        addresses_(executable_.runner().linked()) {}

  /// The executable that it runs.
  const Executable& executable() const { return executable_; }
  const Argument& argument(std::size_t i) const { return arguments_[i]; }

  std::size_t argument_count() const { return arguments_.size(); }
  std::size_t result_count() const { return results_.size(); }

  /// Input `i` of the plan: an array that begins `offset` bytes after the beginning of `storage`.
  void set_argument(std::size_t i, Storage& storage, std::size_t offset = 0) {
    arguments_[i] = {&storage, offset};
  }
  /// Output `i` of the plan is written to `data`, which has room for it and overlaps no argument.
  void set_result(std::size_t i, void* data) { results_[i] = data; }

  /// The saved part of the arena, 64-byte aligned; for a plan that has one.
  void set_saved(std::byte* data) { addresses_.saved = data; }

  /// Runs the call; all arguments and results are set. `reserve(draws)` reserves random counters and returns
  /// the state before them; it is called only if the executable draws.
  template <class Reserve>
  void run(Reserve&& reserve) {
    executable_.run(arguments(), results(), random(reserve), addresses_);
  }
  /// The same by `call`, which is one of this executable. Does not throw for a check that failed.
  template <class Reserve>
  FailedCheck repeat(RepeatedCall& call, Reserve&& reserve) {
    return call.run(arguments(), results(), random(reserve), addresses_);
  }
  /// As RepeatedRun::warm_up.
  void warm_up(RepeatedCall& call) { call.warm_up(arguments(), results(), addresses_); }

 private:
  std::span<const Argument> arguments() { return {arguments_.data(), argument_count()}; }
  std::span<void* const> results() { return {results_.data(), result_count()}; }
  template <class Reserve>
  RandomState random(Reserve& reserve) const {
    const std::int64_t draws = executable_.plan().random_draws;
    return draws > 0 ? reserve(draws) : RandomState{};
  }

  const Executable& executable_;
  SmallArray<Argument, 32> arguments_;
  SmallArray<void*, 8> results_;
  CallAddresses addresses_;
};

}  // namespace kiln
