// Runs of a repeated call in the memory that it keeps.
#include "runtime/cpu_repeated_run.h"

#include "runtime/float_env.h"
#include "runtime/profile.h"
#include "runtime/threads.h"

#include <cstring>
#include <vector>

namespace kiln {

CpuRepeatedRun::CpuRepeatedRun(const CpuRunner& runner)
    : runner_(runner), arena_(host_memory, runner.linked().plan().arena_bytes, runner.linked().plan().name) {
  CallAddresses addresses(runner.linked());
  (void)step_memory(addresses);
}

StepMemory CpuRepeatedRun::step_memory(CallAddresses& addresses) {
  if (!runner_.linked().takes_scratch())
    return {.tables = addresses.tables.data(), .scratch = nullptr, .threads = 0};
  const int threads = num_threads();
  if (threads > threads_) [[unlikely]] {
    scratch_.reset();
    threads_ = 0;
    scratch_.emplace(host_memory, runner_.scratch_bytes(threads), runner_.linked().plan().name);
    threads_ = threads;
  }
  return {.tables = addresses.tables.data(), .scratch = scratch_->data(), .threads = threads};
}

/// Flattened, as CpuRunner::run, which is in the same unit of compilation.
[[gnu::flatten]] FailedCheck CpuRepeatedRun::run(std::span<const Argument> inputs,
                                                 std::span<void* const> outputs, const RandomState& random,
                                                 CallAddresses& addresses) {
  const FloatEnv env;
  std::byte** const base = runner_.set_arguments(inputs, outputs, addresses, prepacked_);
  return runner_.run_with(inputs, base, arena_.data(), step_memory(addresses), random, addresses);
}

void CpuRepeatedRun::warm_up(std::span<const Argument> inputs, std::span<void* const> outputs,
                             CallAddresses& addresses) {
  const FloatEnv env;
  const ExecutablePlan& plan = runner_.linked().plan();
  std::byte** const base = runner_.set_arguments(inputs, outputs, addresses, prepacked_);
  std::byte** const bases = addresses.bases.data();
  std::vector<Buffer> copies;
  for (const ExecutablePlan::WriteBack& w : plan.write_backs) {
    const auto bytes = static_cast<std::size_t>(plan.inputs[w.input].bytes());
    if (bytes > 0) std::memcpy(copies.emplace_back(bytes).data(), bases[w.input], bytes);
    if (bytes > 0) bases[w.input] = copies.back().data();
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    bases[inputs.size() + i] = copies.emplace_back(static_cast<std::size_t>(plan.outputs[i].bytes())).data();
  RandomState none;
  base[0] = arena_.data();
  base[1] = base[2] = reinterpret_cast<std::byte*>(&none);
  const Profile::Record::Suspended suspended;
  StepMemory memory = step_memory(addresses);
  void** const operands = memory.take<void*>(runner_.linked().max_operands());
  (void)runner_.run_steps(bases, operands, memory);
}

}  // namespace kiln
