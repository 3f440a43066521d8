// The loop over the steps of a call on the CPU.
#include "runtime/cpu_runner.h"

#include "runtime/control.h"
#include "runtime/cpu_repeated_run.h"
#include "runtime/fail.h"
#include "runtime/float_env.h"
#include "runtime/profile.h"
#include "runtime/threads.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace kiln {
namespace {

LinkedPlan link(ExecutablePlan plan, const LoadKernel& load) {
  Bodies bodies;
  for (const ExecutablePlan& body : plan.bodies)
    bodies.push_back(std::make_shared<const CpuRunner>(body, load));
  const std::string name = plan.name;
  return {std::move(plan), [&](const Step& step) { return make_control(step, bodies, host_memory, name); }};
}

/// The operands of a kernel with scratch memory, of one worker. They precede the memory.
std::int64_t operand_bytes(const Launch& l) {
  return aligned_bytes(static_cast<std::int64_t>((l.count + 1) * sizeof(void*)));
}

struct KernelCall {
  KernelFn entry;
  void* const* operands;
  const std::int64_t* params;
  std::byte* scratch;  // of all workers; null: the kernel takes none, and the rest is undefined
  std::uint32_t count;
  std::int64_t operand_bytes, worker_bytes;
};

void run_piece(void* context, int worker, std::int64_t begin, std::int64_t end) {
  const KernelCall& c = *static_cast<const KernelCall*>(context);
  if (c.scratch == nullptr) return c.entry(c.operands, c.params, begin, end);
  std::byte* const memory = c.scratch + worker * c.worker_bytes;
  void** const operands = reinterpret_cast<void**>(memory);
  std::copy_n(c.operands, c.count, operands);
  operands[c.count] = memory + c.operand_bytes;
  c.entry(operands, c.params, begin, end);
}

}  // namespace

CpuRunner::CpuRunner(ExecutablePlan given, const LoadKernel& load)
    : Runner(link(std::move(given), load), Device{}) {
  for (const PlannedKernel& k : plan().kernels) {
    kernels_.push_back(load(k));
    if (!kernels_.back() || kernels_.back()->entry == nullptr)
      fail_internal("kernel {} of {} has no code", k.name, plan().name);
    entries_.push_back(kernels_.back()->entry);
  }
}

std::int64_t CpuRunner::scratch_of(std::span<const Launch> launches, int threads) const {
  std::int64_t bytes = 0;
  for (const Launch& l : launches) {
    if (l.control)
      bytes = std::max(bytes, l.control->scratch_bytes(threads));
    else if (l.scratch_bytes > 0)
      bytes = std::max(bytes, (operand_bytes(l) + l.scratch_bytes) * workers_for(l.extent, l.grain, threads));
  }
  return bytes;
}

CpuRunner::Workspace CpuRunner::make_workspace(std::span<const Launch> launches, bool takes_scratch) const {
  const int threads = takes_scratch ? num_threads() : 0;
  return {threads, {host_memory, takes_scratch ? scratch_of(launches, threads) : 0, plan().name}};
}

void CpuRunner::launch(const Launch& l, std::byte* const* bases, void** operands,
                       const StepMemory& memory) const {
  linked_.set_operands(l, bases, operands);
  const int threads = l.extent <= l.grain ? 1 : memory.threads > 0 ? memory.threads : num_threads();
  KernelCall call;
  call.entry = entries_[l.kernel];
  call.operands = operands;
  call.params = l.params;
  call.scratch = nullptr;
  if (l.scratch_bytes > 0) {
    call.count = l.count;
    call.operand_bytes = operand_bytes(l);
    call.worker_bytes = call.operand_bytes + l.scratch_bytes;
    call.scratch = memory.scratch;
    const int workers = workers_for(l.extent, l.grain, threads);
    for (int w = 0; w < workers; ++w)
      std::memset(call.scratch + w * call.worker_bytes + call.operand_bytes, 0, sizeof(std::int64_t));
  }
  if (threads > 1) return parallel_pieces(l.extent, l.grain, threads, run_piece, &call);
  if (l.extent > 0) run_piece(&call, 0, 0, l.extent);
}

void CpuRunner::run_launches(std::span<const Launch> launches, std::byte* const* bases) const {
  SmallArray<void*, 32> operands(linked_.max_operands());
  const Workspace workspace = make_workspace(launches, true);
  const StepMemory memory{
      .tables = nullptr, .scratch = workspace.scratch.data(), .threads = workspace.threads};
  for (const Launch& l : launches) launch(l, bases, operands.data(), memory);
}

FailedCheck CpuRunner::run_step(const Launch& l, std::byte* const* bases, void** operands,
                                const StepMemory& memory) const {
  if (l.control) {
    linked_.set_operands(l, bases, operands);
    return l.control->run(operands, memory);
  }
  launch(l, bases, operands, memory);
  return {};
}

FailedCheck CpuRunner::run_steps(std::byte* const* bases, void** operands, const StepMemory& memory) const {
  if (Profile::Record* profile = Profile::Record::active())
    return run_timed(*profile, bases, operands, memory);
  for (const Launch& l : linked_.launches())
    if (const FailedCheck failed = run_step(l, bases, operands, memory)) return failed;
  return {};
}

FailedCheck CpuRunner::run_timed(Profile::Record& profile, std::byte* const* bases, void** operands,
                                 const StepMemory& memory) const {
  using Clock = Profile::Record::Clock;
  const Profile::Record::Suspended suspended(profile.measures_bodies ? &profile : nullptr);
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto first = Clock::now();
  for (const Launch& l : linked_.launches()) {
    const auto begin = Clock::now();
    if (const FailedCheck failed = run_step(l, bases, operands, memory)) return failed;
    profile.add(*l.step, begin, since(begin), {});
  }
  profile.add_call(plan().name, first, since(first));
  return {};
}

/// Flattened: of the 35 ns of a call of one small kernel, calls of these functions would take a third.
[[gnu::flatten]] FailedCheck CpuRunner::run(std::span<const Argument> inputs, std::span<void* const> outputs,
                                            const RandomState& random, CallAddresses& addresses) const {
  const FloatEnv env;
  PrepackedConstants::References prepacked;
  std::byte** const base = set_arguments(inputs, outputs, addresses, prepacked);
  const Arena arena(host_memory, plan().arena_bytes, plan().name);
  const Workspace workspace = make_workspace(linked_.launches(), linked_.takes_scratch());
  return run_with(
      inputs, base, arena.data(),
      {.tables = addresses.tables.data(), .scratch = workspace.scratch.data(), .threads = workspace.threads},
      random, addresses);
}

FailedCheck CpuRunner::run_with(std::span<const Argument> inputs, std::byte** base, std::byte* arena,
                                StepMemory memory, const RandomState& random,
                                CallAddresses& addresses) const {
  RandomState state = random;
  base[0] = arena;
  base[1] = base[2] = reinterpret_cast<std::byte*>(&state);

  std::vector<Buffer> staged;
  if (overlap_.may_stage()) staged = overlap_.stage(addresses, host_memory);
  std::byte* const* const bases = addresses.bases.data();
  void** const operands = memory.take<void*>(linked_.max_operands());
  if (const FailedCheck failed = run_steps(bases, operands, memory)) return failed;
  if (!overlap_.writes()) return {};
  overlap_.write_back(inputs, bases, host_memory);
  overlap_.count_writes(inputs);
  return {};
}

FailedCheck CpuRunner::run_body(std::byte* const* operands, std::byte* arena, const RandomState& random,
                                StepMemory memory) const {
  std::byte** const bases = memory.take<std::byte*>(linked_.base_count());
  void** const step_operands = memory.take<void*>(linked_.max_operands());
  std::byte** const base = set_body_arguments(operands, bases);
  RandomState state = random;
  base[0] = arena;
  base[1] = base[2] = reinterpret_cast<std::byte*>(&state);
  return run_steps(bases, step_operands, memory);
}

std::unique_ptr<RepeatedRun> CpuRunner::repeat() const { return std::make_unique<CpuRepeatedRun>(*this); }

}  // namespace kiln
