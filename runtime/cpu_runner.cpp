// The loop over the steps of a call on the CPU.
#include "runtime/cpu_runner.h"

#include "runtime/control.h"
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

struct KernelCall {
  KernelFn entry;
  void* const* operands;
  const std::int64_t* params;
  std::uint32_t count;
  std::byte* scratch;  // of all workers; null: the kernel takes none
  std::int64_t scratch_bytes;
};

void run_piece(void* context, int worker, std::int64_t begin, std::int64_t end) {
  const KernelCall& c = *static_cast<const KernelCall*>(context);
  if (c.scratch == nullptr) return c.entry(c.operands, c.params, begin, end);
  SmallArray<void*, 32> operands(c.count + 1);
  std::copy_n(c.operands, c.count, operands.data());
  operands[c.count] = c.scratch + worker * c.scratch_bytes;
  c.entry(operands.data(), c.params, begin, end);
}

class Repeated final : public RepeatedRun {
 public:
  explicit Repeated(const CpuRunner& runner) : runner_(runner) {}
  void run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
           CallAddresses& addresses) override {
    runner_.run(inputs, outputs, random, addresses);
  }

 private:
  const CpuRunner& runner_;
};

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

CpuRunner::Workspace CpuRunner::make_workspace(std::span<const Launch> launches) const {
  const int threads = any_scratch(launches) ? num_threads() : 0;
  std::int64_t bytes = 0;
  if (threads > 0)
    for (const Launch& l : launches)
      bytes = std::max(bytes, l.scratch_bytes * workers_for(l.extent, l.grain, threads));
  return {threads, {host_memory, bytes, plan().name}};
}

void CpuRunner::launch(const Launch& l, std::byte* const* bases, void** operands,
                       const Workspace& workspace) const {
  linked_.set_operands(l, bases, operands);
  if (l.control) return l.control->run(operands);
  const int threads = l.extent <= l.grain ? 1 : workspace.threads > 0 ? workspace.threads : num_threads();
  const int workers = l.scratch_bytes == 0 ? 0 : workers_for(l.extent, l.grain, threads);
  std::byte* const scratch = workers == 0 ? nullptr : workspace.scratch.data();
  for (int w = 0; w < workers; ++w) std::memset(scratch + w * l.scratch_bytes, 0, sizeof(std::int64_t));
  KernelCall call{entries_[l.kernel], operands, l.params, l.count, scratch, l.scratch_bytes};
  if (threads > 1) return parallel_pieces(l.extent, l.grain, threads, run_piece, &call);
  if (l.extent > 0) run_piece(&call, 0, 0, l.extent);
}

void CpuRunner::run_launches(std::span<const Launch> launches, std::byte* const* bases) const {
  SmallArray<void*, 32> operands(linked_.max_operands());
  const Workspace workspace = make_workspace(launches);
  for (const Launch& l : launches) launch(l, bases, operands.data(), workspace);
}

void CpuRunner::run_steps(CallAddresses& addresses) const {
  std::byte* const* const bases = addresses.bases.data();
  void** const operands = addresses.operands.data();
  const Workspace workspace = make_workspace(linked_.launches());
  if (Profile::Record* profile = Profile::Record::active())
    return run_timed(*profile, bases, operands, workspace);
  for (const Launch& l : linked_.launches()) launch(l, bases, operands, workspace);
}

void CpuRunner::run_timed(Profile::Record& profile, std::byte* const* bases, void** operands,
                          const Workspace& workspace) const {
  using Clock = Profile::Record::Clock;
  const Profile::Record::Suspended suspended;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto first = Clock::now();
  for (const Launch& l : linked_.launches()) {
    const auto begin = Clock::now();
    launch(l, bases, operands, workspace);
    profile.add(*l.step, begin, since(begin), {});
  }
  profile.add_call(plan().name, first, since(first));
}

/// Flattened: of the 35 ns of a call of one small kernel, calls of these functions would take a third.
[[gnu::flatten]] void CpuRunner::run(std::span<const Argument> inputs, std::span<void* const> outputs,
                                     const RandomState& random, CallAddresses& addresses) const {
  const FloatEnv env;
  PrepackedConstants::References prepacked;
  std::byte** const base = set_arguments(inputs, outputs, addresses, prepacked);
  const Arena arena(host_memory, plan().arena_bytes, plan().name);
  RandomState state = random;
  base[0] = arena.data();
  base[1] = base[2] = reinterpret_cast<std::byte*>(&state);

  std::vector<Buffer> staged;
  if (overlap_.may_stage()) staged = overlap_.stage(addresses, host_memory);
  run_steps(addresses);
  if (!overlap_.writes()) return;
  overlap_.write_back(inputs, addresses.bases.data(), host_memory);
  overlap_.count_writes(inputs);
}

void CpuRunner::run_body(std::byte* const* operands, std::byte* arena, const RandomState& random) const {
  CallAddresses addresses(linked_);
  std::byte** const base = set_body_arguments(operands, addresses);
  RandomState state = random;
  base[0] = arena;
  base[1] = base[2] = reinterpret_cast<std::byte*>(&state);
  run_steps(addresses);
}

std::unique_ptr<RepeatedRun> CpuRunner::repeat() const { return std::make_unique<Repeated>(*this); }

}  // namespace kiln
